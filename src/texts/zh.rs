//! Simplified Chinese.

use super::{
    BudgetScope, GrantTexts, GrantWords, Messages, ReasonTexts, UnclearReason, UsedUp, linking,
};

pub(super) const WORDS: Messages = Messages {
    allowed_to_run: |tool| format!("允许 **{tool}** 吗？"),
    run_again: |tool| format!("**{tool}** 被中断了。要再运行一次吗？"),
    tool_sentence: |of| of.chinese,
    argument_below: |name| format!("{name}：见下方的更改"),
    argument_cut: |name, shown, length, digest| {
        format!("{name}：共 {length} 个字符，显示前 {shown} 个，SHA-256 `{digest}…`")
    },
    conversation_covers: |tool, by| {
        format!(
            "\u{201c}在此对话中允许\u{201d}适用于 {by} 之后在此请求的所有 {tool} 调用，不论参数如何，直到 /new。"
        )
    },
    asked_for: |by, until, code| format!("请求者：{by}。有效期至 {until}，代码 `{code}`。"),
    previews: super::preview_notes_zh::CHINESE,
    allow_once: "允许一次",
    allow_conversation: "在此对话中允许",
    allow_always: "始终允许…",
    deny: "拒绝",
    deny_with_reason: "拒绝并说明理由",
    again: "再运行一次",
    skip: "跳过",
    show_everything: "显示全部",
    everything_sent: "全部参数将以文件形式发送。",
    everything_sent_before: "该文件已经发送过。",
    not_all_shown: "此处未显示全部内容：“显示全部”会以文件形式发送完整内容。",
    contacts_host: |written, host| format!("⚠️ {written} 实际连接的主机是 {host}"),
    and_more_hosts: |count| format!("⚠️ ……另有 {count} 个主机与所写不符"),
    allowed_by: |by| format!("{by} 已允许。"),
    denied_by: |by| format!("{by} 已拒绝。"),
    expired_notice: "已拒绝：没有人及时决定。",
    withdrawn_by: |by| format!("{by} 已撤回。"),
    superseded_by: |by| format!("已作废：{by} 修改了消息。"),
    undeliverable: "已拒绝：无法展示给任何有权决定的人。",
    still_open: "此请求仍待决定。",
    allowed: "已允许。",
    denied: "已拒绝。",
    expired: "太晚了：此请求已过期，视为拒绝。",
    withdrawn: "此请求已撤回。",
    superseded: "原消息已修改，此请求不再有效。",
    already_allowed: |by| format!("{by} 已经允许了。"),
    already_denied: |by| format!("{by} 已经拒绝了。"),
    not_yours: "只有提出请求的人可以允许或拒绝。",
    not_your_own: "必须由请求者以外的人决定。",
    not_for_you: "你无权决定：策略要求由其他人审批。",
    no_such_button: "这个按钮已失效。",
    nothing_pending: "这里没有待审批的请求。",
    which_one: "有多个请求待审批。请附上所指请求的代码，例如 `/allow 1a2b3c4d`。",
    waiting_for_you: "我仍在等待对上面请求的决定。你的消息我已保存，之后会读。/stop 可撤回请求。",
    the_bot: "机器人（因任务失败）",
    why_not: "为什么不行？",
    unreadable: "无法识别此操作，因此未执行任何操作。请改为发送消息。",
    not_shown_yet: "正在向你发送一个请求。请先阅读再决定。",
    help: "直接给我发消息即可。在做出任何更改之前，我会先请你批准。\n\n- /new 开始新的对话\n- /stop 停止我正在做的事并撤回待审批的请求\n- \
        /allow、/here、/always、/deny 和 /answer 不用按钮即可审批或答复请求；/withdraw 撤回投票\n- /grants \
        查看并撤销权限\n- /status 显示我在等什么\n- /model 显示语言模型，并可切换\n- /link 关联你的账号\n- \
        /whoami 显示你的身份\n- /panic 在所有地方停止全部工具（所有者）",
    help_prompts: "工具服务器的提示模板：",
    prompt_usage: |usage| format!("请这样写：`{usage}`"),
    prompt_failed: |prompt, server| {
        format!("工具服务器 {server} 没有提供提示模板 {prompt}。请稍后再试。")
    },
    menu: [
        "开始新的对话",
        "停止当前任务并撤回待审批的请求",
        "显示我在等待什么",
        "查看或切换语言模型",
        "查看或撤销许可",
        "显示你的身份",
        "显示我能做什么",
        "立即停止所有工具（所有者）",
    ],
    stopped: "已停止。",
    conversation_restarted: "已开始新的对话。之前的内容我已忘记。",
    paired: "欢迎！你现在可以和我对话了。/help 显示用法。",
    paired_owner: "欢迎！你是这里的第一个人，因此你是我的所有者。/help 显示用法。",
    wrong_code: "代码无效。请向管理员索取新的代码。",
    locked: "错误代码太多。请 15 分钟后再试。",
    stranger: |id| {
        format!(
            "我还不认识你。请向管理员索取配对代码并发给我，或请其把你的 ID `{id}` 加入 `allow`。"
        )
    },
    unsupported: |content| format!("我还不能读取这类消息（{content}）。请以文字发送。"),
    whoami: |name, id, channel, role| format!("你是 `{channel}` 上的 {name}（`{id}`），{role}。"),
    pending_approvals: |open| match open {
        0 => "没有待审批的请求。".into(),
        n => format!("有 {n} 个请求待审批。"),
    },
    at_work: |names| format!("正在运行的子代理：{names}。"),
    models: |now, all| format!("此对话使用 `{now}`。可用模型：{all}。`/model 名称` 可切换。"),
    model_now: |name| format!("此对话从现在起使用 `{name}`。"),
    no_such_model: |name, all| format!("没有名为 {name} 的模型。可用模型：{all}。"),
    may_not: |role| format!("这需要 `{role}` 或更高的角色。/whoami 显示你的角色。"),
    reference: |reason, reference| format!("{reason}\n\n参考编号：`{reference}`"),
    with_cause: |reason, cause| format!("{reason}\n\n原因（仅所有者可见）：{cause}"),
    no_answer: "语言模型返回了空的回答。请再问一次。",
    model_unavailable: "多次尝试后仍无法连接语言模型。请稍后再试。",
    model_refused: "语言模型拒绝了我的请求。管理员可在控制台中查看原因。",
    model_too_long: "即使经过压缩，此对话对语言模型来说仍然太长。用 /new 开始新的对话。",
    model_too_large: "此对话超过了语言模型服务器允许的大小，可能是因为图片或长文本。\
        用 /new 开始新的对话。",
    model_filtered: "语言模型的内容过滤器拦截了这次请求。请换一种说法。",
    model_malformed_call: "语言模型多次尝试使用工具，但调用格式有误。请再问一次，或换一种说法。",
    model_failed: "语言模型的提供商在回答过程中报告了错误。请再问一次。",
    broken: "我这边出了问题，没能完成。",
    out_of_steps: |steps| format!("我在 {steps} 步之后停止了，这是单个任务的上限。"),
    out_of_tokens: |tokens| format!("我已停止，因为此任务已用完 {tokens} 个词元的预算。"),
    out_of_minutes: |minutes| format!("我已停止，因为此任务超过了 {minutes} 分钟。"),
    say_continue: "回复“继续”即可继续。",
    possible_duplicate: "这可能是重复消息：平台没有确认第一次发送。",
    whole_answer: "回答较长，完整内容见此文件。",
    file_missing: |name| format!("文件 {name} 无法发送：其内容丢失或已损坏。"),
    file_gone: |name| format!("我无法从平台下载文件 {name}。请再发一次。"),
    file_too_large: |name, limit| format!("文件 {name} 太大，上限为 {limit}。"),
    not_transcribed: |name| {
        format!(
            "我无法转写录音 {name}。录音已保存，但我不知道其中的内容：请用文字发送，或稍后再试。"
        )
    },
    linking: linking::CHINESE,
    grant_texts: GrantTexts {
        votes: |so_far, needed, names| format!("{so_far}/{needed}：{names}"),
        withdraw: "撤回投票",
        already_voted: "你已投票允许。要收回投票，请选择“撤回投票”或输入 `/withdraw`。",
        no_vote: "你没有可撤回的投票。",
        from_elsewhere: |name, channel| format!("{name}（{channel}）"),
        whose_person: "适用于同一个人的请求，在所有聊天中",
        whose_conversation: "适用于此对话中的所有人",
        whose_bot: "适用于所有人，在所有聊天中",
        proposal: |tool, covered, &GrantWords { whose, until, uses }| {
            format!(
                "**始终允许**后，以下操作将不再询问：\n\n- {tool}：{covered}\n- {whose}\n- 有效期至 \
                    {until}，{uses}\n\n授予此许可吗？"
            )
        },
        type_yes: |code| {
            format!(
                "请输入 `/always {code} yes`，后面可加上要更改的条件：`conversation`、`7d`、`5x`。"
            )
        },
        everything: "任何参数",
        below: |folder| format!("仅限 {folder} 下的路径"),
        exactly: |text| format!("仅限 {text}"),
        origin: |origin| format!("仅限 {origin} 的地址"),
        command: |words| format!("仅限 {words}，不带其他选项"),
        uses: |left| match left {
            None => "次数不限".into(),
            Some(n) => format!("{n} 次"),
        },
        give: "授予",
        back: "返回",
        revoke: "撤销",
        from_now_on: |covered, until| format!("今后不再询问：{covered}，有效期至 {until}。"),
        revoked_by: |by| format!("{by} 已撤销对后续调用的许可。"),
        nothing: "没有长期许可。",
        list: "无需询问即允许：",
        for_person: |person| format!("适用于 {person}"),
        in_conversation: "在一个对话中",
        for_everybody: "适用于所有人",
        line: |&GrantWords { whose, until, uses }, by| {
            format!("{whose}，有效期至 {until}，{uses}，由 {by} 授予")
        },
        proposed: "请先确认这将允许什么，然后授予或返回。",
        not_given: "尚未作出决定。",
        roles_unknown: "平台没有响应，无法核对此聊天中的角色。请重试。",
        not_offered: "此项只能允许一次或拒绝。",
        revoked: "已撤销：今后我会再次询问。",
        no_such_grant: "此许可已过期或被撤销。",
        not_your_grant: "你无权撤销此许可。",
        grants_usage: "`/grants revoke 1a2b3c4d` 按代码撤销一项许可。",
        not_for_others: "只有能代表这里所有人审批的人才能向所有人授予。去掉该选项，则只授予请求者。",
        owner_only: "只有此机器人的所有者可以这样做。",
        moved_here: "我无法再在原处显示此请求，因此在这里询问你。",
        all_halted: "所有工具已停止。在所有者解除之前，无法允许任何操作。",
        lifted: "已解除：工具恢复运行。",
        not_halted: "工具并未被停止。",
        panic_usage: "`/panic` 停止所有工具并拒绝所有待审批的请求；`/panic off` 解除。",
        halted: |denied| {
            format!("所有节点上的所有工具已停止。已拒绝的请求：{denied}。/panic off 可解除。")
        },
    },
    why: ReasonTexts {
        rule_asks: |rule| format!("规则“{rule}”要求审批"),
        rule_unclear: |rule, why| format!("规则“{rule}”无法判定：{why}"),
        unclear: |why| format!("没有规则可以适用：{why}"),
        unclear_reason: |why| match why {
            UnclearReason::NotThere => "它所检查的内容不存在，或事先无法得知",
            UnclearReason::NoCommand => "没有命令",
            UnclearReason::NoShell => "不是有效的 shell 命令",
            UnclearReason::TooMany => "包含的命令太多",
            UnclearReason::TooDeep => "太长或嵌套太深",
            UnclearReason::OtherShells => "不同 shell 的解释不同",
            UnclearReason::PipedGroup => "有内容通过管道传入一组命令",
            UnclearReason::Word => "包含无法解析的词",
            UnclearReason::Braces => "包含无法求值的花括号展开",
            UnclearReason::Variable => "包含无法求值的变量",
            UnclearReason::Program => "事先无法得知它会启动哪个程序",
            UnclearReason::Script => "它会运行事先无法得知的脚本",
            UnclearReason::Starts => "它使用程序的方式可能启动其他程序",
        },
        no_rule: "没有规则允许它",
        full_stop: "。",
        outside: |tool| format!("{tool} 会影响此聊天之外的系统。"),
        read_untrusted_content: |sources| {
            format!("此对话包含不可信内容（{sources}），此请求可能由其引发。")
        },
        and_more: |more| format!(" 以及另外 {more} 项"),
        always_asks: |tool| format!("{tool} 每次都需要审批。"),
        changes: |tool| format!("{tool} 会做出更改，且没有规则允许它。"),
        required: |tool| format!("{tool} 在此需要审批，且没有规则允许它。"),
        severity_high: "\u{1f534} 严重程度：高。",
        severity_critical: "\u{1f534} 严重程度：极高。",
        outcome_unknown: "它被中断了，尚不清楚是否已生效。",
    },
    was_due: |when| format!("原定时间为 {when}。"),
    repeated_result: |tool| {
        format!("我已停止，因为 {tool} 每次都返回相同的结果。请告诉我如何继续。")
    },
    unreadable_calls: "我已停止，因为我没能写出有效的工具调用。请告诉我如何继续，或用 /model 选择另一个模型。",
    daily_limit_reached: |whose, what, wait| {
        let whose = match whose {
            BudgetScope::Person => "你",
            BudgetScope::Conversation => "此对话",
            BudgetScope::All => "所有人合计",
        };
        let what = match what {
            UsedUp::Messages => "消息",
            UsedUp::Tokens => "词元",
            UsedUp::Money => "费用",
        };
        format!("{whose}今天的{what}额度已用完。{wait} 后（UTC 00:00）重置，或由管理员提高额度。")
    },
    too_fast: |seconds| format!("你发送消息过快，上一条已被忽略。请在 {seconds} 秒后再试。"),
    elicitation: super::elicitation::CHINESE,
    page: super::page::CHINESE,
};
