//! The sources as syntax trees, without their unit tests, so that the rules see code and neither
//! strings nor comments.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};
use syn::{
    Attribute, Expr, Field, File, FnArg, GenericArgument, ImplItem, Item, ItemUse, Local, Pat,
    PatIdent, Path as CodePath, PathArguments, PathSegment, Signature, Type, TypeParamBound,
    UseTree, Variant, Visibility,
    visit::{self, Visit},
};

use super::root;

/// What a source defines and uses.
#[derive(Debug, Default)]
pub struct Source {
    /// The modules at the top of the crate that it uses.
    pub uses: BTreeSet<String>,
    /// What it uses within them: `tools::documents`.
    pub uses_within: BTreeSet<String>,
    /// The names of its types, and whether other files can see them.
    pub types: Vec<DefinedType>,
    pub traits: Vec<String>,
    pub functions: Vec<String>,
    /// The names of fields, variants, parameters and variables.
    pub members: Vec<String>,
    /// The modules that have files of their own.
    pub modules: Vec<String>,
    /// The names that it re-exports.
    pub exports: Vec<String>,
    /// Functions with a parameter that is a tuple.
    pub tuple_parameters: Vec<String>,
    /// Functions with a parameter that is a list of tuples, or an optional tuple.
    pub tuple_lists: Vec<String>,
    /// The types of rows that are read as tuples of more than two columns.
    pub wide_rows: Vec<String>,
}

#[derive(Debug)]
pub struct DefinedType {
    pub name: String,
    pub is_visible: bool,
}

/// Every source below the folders, by its path from the root. Files of unit tests are left out.
pub fn sources(folders: &[&str]) -> BTreeMap<String, Source> {
    let mut found = BTreeMap::new();
    for folder in folders {
        collect(&root().join(folder), &mut found);
    }
    found
}

fn collect(folder: &Path, found: &mut BTreeMap<String, Source>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        if super::is_test(&name) {
            continue;
        }
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.insert(name.clone(), source(&name, &fs::read_to_string(&path).unwrap()));
        }
    }
}

pub fn source(name: &str, text: &str) -> Source {
    let file: File = syn::parse_file(text).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    let mut walk = Walk { module: module_of(name), source: Source::default(), is_inside: false };
    walk.visit_file(&file);
    walk.source
}

/// `src/store/db/mod.rs` → `store`, `db`.
fn module_of(name: &str) -> Vec<String> {
    let below = name.split_once("src/").unwrap().1.trim_end_matches(".rs");
    let below = below.strip_suffix("/mod").unwrap_or(below);
    match below {
        "lib" | "main" | "mod" => Vec::new(),
        path => path.split('/').map(str::to_owned).collect(),
    }
}

struct Walk {
    /// The module of the items that are being visited.
    module: Vec<String>,
    source: Source,
    /// Whether the items are inside a function, where no other file sees them.
    is_inside: bool,
}

impl Walk {
    fn note(&mut self, path: &[String]) {
        let mut base = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.module.clone(),
            _ => return,
        };
        for segment in path {
            match segment.as_str() {
                "crate" | "self" => {}
                "super" => drop(base.pop()),
                name => base.push(name.to_owned()),
            }
        }
        if let [module, within, ..] = base.as_slice() {
            self.source.uses_within.insert(format!("{module}::{within}"));
        }
        self.source.uses.extend(base.into_iter().next());
    }

    fn note_tree(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.note_tree(&path.tree, before);
                before.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.note_tree(tree, before));
            }
            UseTree::Name(name) => self.note_leaf(name.ident.to_string(), before),
            UseTree::Rename(rename) => self.note_leaf(rename.ident.to_string(), before),
            UseTree::Glob(_) => self.note(before),
        }
    }

    fn note_leaf(&mut self, leaf: String, before: &mut Vec<String>) {
        before.push(leaf);
        self.note(before);
        before.pop();
    }

    fn define(&mut self, name: &syn::Ident, visibility: &Visibility) {
        let is_visible = !self.is_inside && !matches!(visibility, Visibility::Inherited);
        self.source.types.push(DefinedType { name: name.to_string(), is_visible });
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        match item {
            Item::Struct(item) => self.define(&item.ident, &item.vis),
            Item::Enum(item) => self.define(&item.ident, &item.vis),
            Item::Type(item) => self.define(&item.ident, &item.vis),
            Item::Trait(item) => {
                self.define(&item.ident, &item.vis);
                self.source.traits.push(item.ident.to_string());
            }
            Item::Mod(item) => {
                if item.content.is_none() {
                    self.source.modules.push(item.ident.to_string());
                }
                self.module.push(item.ident.to_string());
                visit::visit_item_mod(self, item);
                self.module.pop();
                return;
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let is_test = matches!(item, ImplItem::Fn(function) if is_for_tests(&function.attrs));
        if !is_test {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        let was = std::mem::replace(&mut self.is_inside, true);
        visit::visit_block(self, block);
        self.is_inside = was;
    }

    fn visit_field(&mut self, field: &'ast Field) {
        self.source.members.extend(field.ident.as_ref().map(ToString::to_string));
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        self.source.members.push(variant.ident.to_string());
        visit::visit_variant(self, variant);
    }

    /// Parameters of functions and closures, and variables.
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        self.source.members.push(pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        if let (Pat::Type(pattern), Some(init)) = (&local.pat, &local.init)
            && matches!(&*init.expr, Expr::Macro(call) if call.mac.path.is_ident("sql"))
            && columns(&pattern.ty) > 2
        {
            self.source.wide_rows.push(format!("{} columns", columns(&pattern.ty)));
        }
        visit::visit_local(self, local);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.note_tree(&item.tree, &mut Vec::new());
        if !matches!(item.vis, Visibility::Inherited) {
            note_names(&item.tree, &mut self.source.exports);
        }
    }

    fn visit_path(&mut self, path: &'ast CodePath) {
        let segments: Vec<_> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.note(&segments);
        visit::visit_path(self, path);
    }

    /// The arguments of a macro are tokens, in which only paths of this crate are found.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let tokens = call.tokens.to_string().replace(' ', "");
        for (at, _) in tokens.match_indices("crate::") {
            let rest = &tokens[at..];
            let is_other = |c: char| !c.is_alphanumeric() && !['_', ':'].contains(&c);
            let path = &rest[..rest.find(is_other).unwrap_or(rest.len())];
            let segments: Vec<_> = path.split("::").map(str::to_owned).collect();
            self.note(&segments);
        }
        self.visit_path(&call.path);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        let name = signature.ident.to_string();
        let is_tuple = |input: &FnArg| match input {
            FnArg::Typed(input) => matches!(*input.pat, Pat::Tuple(_)) || is_tuple(&input.ty),
            FnArg::Receiver(_) => false,
        };
        if signature.inputs.iter().any(is_tuple) {
            self.source.tuple_parameters.push(name.clone());
        }
        let is_list =
            |input: &FnArg| matches!(input, FnArg::Typed(input) if is_tuple_list(&input.ty));
        if signature.inputs.iter().any(is_list) {
            self.source.tuple_lists.push(name.clone());
        }
        self.source.functions.push(name);
        visit::visit_signature(self, signature);
    }
}

fn is_tuple(ty: &Type) -> bool {
    match ty {
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        Type::Reference(reference) => is_tuple(&reference.elem),
        Type::Paren(inner) => is_tuple(&inner.elem),
        Type::Group(inner) => is_tuple(&inner.elem),
        _ => false,
    }
}

/// Whether a parameter is a list of tuples, or an optional tuple.
fn is_tuple_list(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_tuple_list(&reference.elem),
        Type::Slice(slice) => is_tuple(&slice.elem),
        Type::Array(array) => is_tuple(&array.elem),
        Type::Paren(inner) => is_tuple_list(&inner.elem),
        Type::Group(inner) => is_tuple_list(&inner.elem),
        Type::ImplTrait(list) => list.bounds.iter().any(is_bound_of_tuples),
        Type::TraitObject(list) => list.bounds.iter().any(is_bound_of_tuples),
        Type::Path(path) => path.path.segments.last().is_some_and(has_tuples),
        _ => false,
    }
}

fn is_bound_of_tuples(bound: &TypeParamBound) -> bool {
    matches!(bound, TypeParamBound::Trait(bound) if bound.path.segments.last().is_some_and(has_tuples))
}

/// What contains values of one type. The key of a map is looked up as a whole, and axum's `Path` has
/// the segments in the order of the address.
const CONTAINERS: [&str; 9] =
    ["BTreeSet", "Box", "Cow", "HashSet", "IntoIterator", "Iterator", "Option", "Vec", "VecDeque"];

fn has_tuples(segment: &PathSegment) -> bool {
    let PathArguments::AngleBracketed(list) = &segment.arguments else { return false };
    CONTAINERS.iter().any(|name| segment.ident == name)
        && list.args.iter().any(|argument| match argument {
            GenericArgument::Type(ty) => is_tuple(ty) || is_tuple_list(ty),
            GenericArgument::AssocType(item) => is_tuple(&item.ty) || is_tuple_list(&item.ty),
            _ => false,
        })
}

/// The number of columns of a row, also within `Option` and `Vec`; 0 if it is not a tuple.
fn columns(ty: &Type) -> usize {
    let Type::Path(path) = ty else {
        return if let Type::Tuple(tuple) = ty { tuple.elems.len() } else { 0 };
    };
    let of = |argument: &GenericArgument| match argument {
        GenericArgument::Type(ty) => columns(ty),
        _ => 0,
    };
    match path.path.segments.last().map(|segment| &segment.arguments) {
        Some(PathArguments::AngleBracketed(list)) => list.args.iter().map(of).max().unwrap_or(0),
        _ => 0,
    }
}

/// The names that a `use` brings into scope.
fn note_names(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => note_names(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| note_names(tree, names)),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(rename) => names.push(rename.rename.to_string()),
        UseTree::Glob(_) => {}
    }
}

/// Whether an item is only in builds of tests: `test`, or with it the feature `testing`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string());
        let is_test = |condition: String| {
            let condition = condition.replace(' ', "");
            ["test", "any(test,feature=\"testing\")"].contains(&condition.as_str())
                || condition.starts_with("all(test,")
        };
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && condition.is_ok_and(is_test)
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
