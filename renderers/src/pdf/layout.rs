//! Lays out a document in rounds, until the page numbers that it contains are right.
//!
//! `typst::compile` does the same, but keeps the pages of all rounds and what each round computed.
//! Here each round frees what the one before it computed and this one did not need.

use typst::World;
use typst::comemo::{self, Constraint, Track};
use typst::diag::SourceResult;
use typst::engine::{Engine, Route, Sink, Traced};
use typst::foundations::{Content, Output, StyleChain, Target, TargetElem};
use typst::introspection::{EmptyIntrospector, Introspector, MAX_ITERS};
use typst::utils::Protected;
use typst_layout::PagedDocument;

/// The pages of the world's main file.
pub fn lay_out(world: &dyn World) -> SourceResult<PagedDocument> {
    let library = world.library();
    let target = TargetElem::target.set(Target::Paged).wrap();
    let base = StyleChain::new(&library.styles);
    let styles = base.chain(&target);
    let content = evaluate(world)?;
    let mut last = round(world, &content, styles, &EmptyIntrospector)?;
    for _ in 1..MAX_ITERS {
        if last.is_final {
            break;
        }
        comemo::evict(1);
        last = round(world, &content, styles, Output::introspector(&last.pages))?;
    }
    let delayed = last.sink.delayed();
    if delayed.is_empty() { Ok(last.pages) } else { Err(delayed) }
}

/// The template with what the document fills in.
fn evaluate(world: &dyn World) -> SourceResult<Content> {
    let main = world.source(world.main()).expect("the template is constant");
    let (traced, mut sink) = (Traced::default(), Sink::new());
    let route = Route::default();
    let module = typst_eval::eval(
        world.track(),
        world.library(),
        traced.track(),
        sink.track_mut(),
        route.track(),
        &main,
    )?;
    Ok(module.content())
}

/// What a round results in.
struct Round {
    pages: PagedDocument,
    /// Whether everything that it asked `known` has the same answer in its own pages.
    is_final: bool,
    /// Its errors that another round may have corrected.
    sink: Sink,
}

/// Lays out all pages with the page numbers of `known`.
fn round(
    world: &dyn World,
    content: &Content,
    styles: StyleChain,
    known: &dyn Introspector,
) -> SourceResult<Round> {
    let constraint = Constraint::new();
    let (traced, mut sink) = (Traced::default(), Sink::new());
    let mut engine = Engine {
        library: world.library(),
        world: world.track(),
        introspector: Protected::new(known.track_with(&constraint)),
        traced: traced.track(),
        sink: sink.track_mut(),
        route: Route::default(),
    };
    let pages = PagedDocument::create(&mut engine, content, styles)?;
    let is_final = constraint.validate(Output::introspector(&pages));
    Ok(Round { pages, is_final, sink })
}
