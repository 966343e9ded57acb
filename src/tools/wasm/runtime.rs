//! Compiles components and runs calls, each in a new instance with limits on instructions, memory
//! and time.

use std::{sync::Arc, time::Duration};
use tokio::time::timeout;
use wasmtime::{
    Config, Engine, Store, Trap,
    component::{Component, HasSelf, Linker},
};

use super::{
    ToolDescription, WasmHost, WasmLimits, WasmTool,
    host::{
        HostState, OngoingCall,
        bindings::{Description, Effect, Tool as ToolInterface, ToolPre},
    },
};
use crate::{
    agent::catalog::EffectClass,
    tools::{Context, Output, ToolError},
};

/// The stack of a component; a deeper recursion is a trap.
const STACK_BYTES: usize = 512 * 1024;
/// After as many instructions, another task gets its turn, and the call ends if it was cancelled.
const YIELD_EVERY: u64 = 200_000;
/// The maximum size of the values that a component passes to one function of the host.
const PASSED_BYTES: usize = 8 * 1024 * 1024;
const DESCRIBED_WITHIN: Duration = Duration::from_secs(5);

/// Loads components.
#[derive(Clone)]
pub struct WasmRuntime {
    engine: Engine,
    linker: Arc<Linker<HostState>>,
}

/// A compiled component.
pub struct LoadedModule {
    description: ToolDescription,
    instances: ToolPre<HostState>,
}

impl WasmRuntime {
    pub fn new() -> Result<Self, String> {
        let mut config = Config::new();
        config.consume_fuel(true).max_wasm_stack(STACK_BYTES);
        let engine = Engine::new(&config).map_err(|error| format!("{error:#}"))?;
        let mut linker = Linker::new(&engine);
        ToolInterface::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut HostState| state)
            .map_err(|error| format!("{error:#}"))?;
        Ok(Self { engine, linker: Arc::new(linker) })
    }

    /// Compiles a component and lets it describe its tool, without any access.
    pub async fn load(&self, bytes: Vec<u8>, host: &Arc<WasmHost>) -> Result<LoadedModule, String> {
        let engine = self.engine.clone();
        let compiled = tokio::task::spawn_blocking(move || Component::new(&engine, bytes)).await;
        let compiled = compiled.map_err(|_| "the compiler failed on it".to_owned())?;
        let component = compiled.map_err(|error| {
            format!("it is not a WebAssembly component: {}", first_line(&error))
        })?;
        let linked = self.linker.instantiate_pre(&component).and_then(ToolPre::new);
        let instances = linked.map_err(|error| {
            format!("it does not fit countersign:tool@1.0.0 (wit/tool.wit): {}", first_line(&error))
        })?;
        let mut store = store(&instances, host.limits, None).map_err(|error| first_line(&error))?;
        let described = timeout(DESCRIBED_WITHIN, async {
            instances.instantiate_async(&mut store).await?.call_describe(&mut store).await
        });
        let described = described.await.map_err(|_| "`describe` took too long".to_owned())?;
        let described = described
            .map_err(|error| format!("`describe` failed: {}", explain(&error, store.data())))?;
        Ok(LoadedModule { description: described.try_into()?, instances })
    }
}

impl LoadedModule {
    pub fn description(&self) -> &ToolDescription {
        &self.description
    }

    /// Runs one call in a new instance, which is dropped afterwards in every case.
    pub async fn run(
        &self,
        tool: &WasmTool,
        arguments: &str,
        context: &Context,
    ) -> Result<Output, ToolError> {
        let call = OngoingCall {
            tool: tool.spec.name.clone(),
            grants: tool.grants.clone(),
            host: tool.host.clone(),
            context: context.clone(),
        };
        let crashed = |why: String| {
            ToolError::Sandbox(format!("The call ended before it had a result: {why}"))
        };
        let store = store(&self.instances, tool.host.limits, Some(call));
        let mut store = store.map_err(|error| crashed(first_line(&error)))?;
        let ended = async {
            let instance = self.instances.instantiate_async(&mut store).await?;
            instance.call_run(&mut store, arguments).await
        };
        let once = tool.spec.effect == EffectClass::AtMostOnce;
        match ended.await {
            Ok(Ok(text)) => Ok(store.into_data().output(text)),
            _ if once && store.data().has_lost_request => Err(ToolError::Unknown),
            Ok(Err(text)) => Err(ToolError::ExecutionFailed(text)),
            Err(error) => Err(crashed(explain(&error, store.data()))),
        }
    }
}

fn store(
    instances: &ToolPre<HostState>,
    limits: WasmLimits,
    call: Option<OngoingCall>,
) -> wasmtime::Result<Store<HostState>> {
    let mut store = Store::new(instances.engine(), HostState::new(limits.memory_bytes, call));
    store.limiter(|state| &mut state.limiter);
    store.set_fuel(limits.fuel)?;
    store.fuel_async_yield_interval(Some(YIELD_EVERY))?;
    store.set_hostcall_fuel(PASSED_BYTES);
    Ok(store)
}

/// Why a call ended, as an operator and the model read it.
fn explain(error: &wasmtime::Error, state: &HostState) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            "it used up the instructions of one call (wasm.max_instructions)".to_owned()
        }
        Some(Trap::StackOverflow) => "its recursion is too deep for the stack".to_owned(),
        _ if state.limiter.has_refused => {
            "it needs more memory than one call may use (wasm.memory_mb)".to_owned()
        }
        Some(trap) => trap.to_string(),
        None => first_line(error),
    }
}

/// The cause of an error, without the backtrace of the component.
fn first_line(error: &wasmtime::Error) -> String {
    let cause = error.chain().last().map_or_else(|| error.to_string(), ToString::to_string);
    cause.lines().next().unwrap_or_default().chars().take(300).collect()
}

impl TryFrom<Description> for ToolDescription {
    type Error = String;

    fn try_from(said: Description) -> Result<Self, String> {
        let parameters = serde_json::from_str(&said.parameters)
            .map_err(|problem| format!("its parameters are not JSON: {problem}"))?;
        let effect = match said.effect {
            Effect::ReadOnly => EffectClass::ReadOnly,
            Effect::Idempotent => EffectClass::Idempotent,
            Effect::AtMostOnce => EffectClass::AtMostOnce,
        };
        Ok(Self { name: said.name, description: said.description, parameters, effect })
    }
}
