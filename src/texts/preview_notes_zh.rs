//! The Chinese sentences of previews.

use super::preview_notes::{
    ElementTexts, PreviewNote, PreviewTexts, ServiceCost, escaped, page_element,
};

pub(super) const CHINESE: PreviewTexts = PreviewTexts {
    note: |note| match note {
        PreviewNote::Failure => "此操作将会失败。".into(),
        PreviewNote::Unchanged => "没有任何更改。".into(),
        PreviewNote::EmptyFile => "新文件为空。".into(),
        PreviewNote::Replaced { before, after } => {
            format!("{before} 字节将被替换为 {after} 字节。")
        }
        PreviewNote::ReplacesBinary { bytes } => format!("替换一个 {bytes} 字节的二进制文件。"),
        PreviewNote::Unread { problem } => escaped(problem),
        PreviewNote::DeletesSkill { name } => format!("技能 `{name}` 将被删除。"),
        PreviewNote::CompiledProgram => "这是已编译的程序，无法显示。".into(),
        PreviewNote::BackgroundJob { minutes, steps, tokens } => format!(
            "在后台运行，最多 {minutes} 分钟、{steps} 步和 {tokens} 个 token。其操作与其他操作一样会受到检查，并在此处请求批准。"
        ),
        PreviewNote::Build { minutes, rounds, tokens } => format!(
            "由模型编写代码，代码只在沙盒中运行，不能访问网络：最多 {rounds} 轮、{tokens} 个 token、{minutes} 分钟。未经再次批准不会安装任何内容。"
        ),
        PreviewNote::InstallsSkill { name, is_there: true } => {
            format!("技能 `{name}` 将被以下代码替换：")
        }
        PreviewNote::InstallsSkill { name, is_there: false } => {
            format!("将用以下代码安装技能 `{name}`：")
        }
        PreviewNote::MakesPdf { from, bytes } => {
            format!("由 {from}（{bytes} 字节）生成 PDF。", from = escaped(from))
        }
        PreviewNote::ReplacesFile { path, bytes } => {
            format!("替换 {path}（{bytes} 字节）。", path = escaped(path))
        }
        PreviewNote::ReplacesBy { path, before, after } => {
            format!("将 {path}（{before} 字节）替换为 {after} 字节。", path = escaped(path))
        }
        PreviewNote::Creates { path } => format!("创建 {path}。", path = escaped(path)),
        PreviewNote::CreatesFiles { count } => format!("创建 {count} 个文件。"),
        PreviewNote::NextRun { at, rule, is_paused: false } => format!("下次运行：{at}，{rule}"),
        PreviewNote::NextRun { at, rule, is_paused: true } => {
            format!("已暂停，原定下次运行：{at}，{rule}")
        }
        note @ PreviewNote::PageElement { .. } => page_element(
            note,
            &ElementTexts {
                element: |role, name, page| format!("页面元素：{role}“{name}”。页面：{page}"),
                link: |link| format!("链接指向：{link}"),
                frame: |frame| format!("所在框架：{frame}"),
            },
        ),
        PreviewNote::PaidService { name, cost } => {
            let cost = match cost {
                ServiceCost::Estimated(cost) => format!("预计费用：{cost}"),
                ServiceCost::Nothing => "不收费".to_owned(),
                ServiceCost::Unknown => "未配置费用".to_owned(),
            };
            format!("{}。{}", escaped(name), escaped(&cost))
        }
        PreviewNote::Markdown(markdown) => markdown.clone(),
    },
    more_lines: |count| format!("……另有 {count} 行"),
    more_characters: |count| format!("……另有 {count} 个字符"),
};
