//! The `#[tool]` attribute, which makes a tool of a documented function.

#![warn(missing_docs)]

use heck::ToUpperCamelCase as _;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, Error, Expr, FnArg, Ident, ItemFn, Lit, Meta, MetaNameValue, Pat, PatType, Result,
    ReturnType, Token, Type, parse::Parser as _, punctuated::Punctuated, spanned::Spanned as _,
};

/// Makes a tool of a function: `fn factorial` becomes `struct Factorial`, which implements `Tool`.
///
/// The function's documentation is the description that the model reads, and each parameter's
/// documentation is the description of that parameter. The schema comes from the parameter types,
/// which derive `Deserialize` and `JsonSchema` (an `Option` is an optional parameter). A returned
/// string is the result as it is, any other value is returned as JSON, and an `Err` is reported to
/// the model as a failure. The function may be `async` and may take a `&Context`.
///
/// By default a tool has no effects and needs no approval. `#[tool(effect =
/// EffectClass::AtMostOnce, approval = ApprovalMode::UnlessAllowed)]` sets fields of its `ToolSpec`.
#[proc_macro_attribute]
pub fn tool(
    options: proc_macro::TokenStream,
    function: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let made = syn::parse(function).and_then(|function| made(options.into(), function));
    made.unwrap_or_else(Error::into_compile_error).into()
}

type Options = Punctuated<MetaNameValue, Token![,]>;

fn made(options: TokenStream, mut function: ItemFn) -> Result<TokenStream> {
    let options = Options::parse_terminated.parse2(options)?;
    let fields = options.iter().map(|MetaNameValue { path, value, .. }| quote!(#path: #value));
    let signature = &mut function.sig;
    let (function_name, name) = (signature.ident.clone(), signature.ident.to_string());
    let about = documented(&function.attrs, &function_name, "the tool's description")?;
    let parameters = parameters(&mut signature.inputs)?;
    let passed = parameters.iter().map(|parameter| match parameter {
        Parameter::Context => quote!(context),
        Parameter::Argument { name, .. } => quote!(#name),
    });
    let mut call = quote!(#function_name(#(#passed),*));
    if signature.asyncness.is_some() {
        call = quote!(#call.await);
    }
    if returns_result(&signature.output) {
        call = quote!(support::succeeded(#call)?);
    }
    let arguments = parameters.iter().filter_map(Parameter::field);
    let names = parameters.iter().filter_map(Parameter::name);
    let tool = format_ident!("{}", name.to_upper_camel_case());
    let (shown, says) = (&function.vis, format!("The tool `{name}`."));
    Ok(quote! {
        #function

        #[doc = #says]
        #shown struct #tool;

        const _: () = {
            use ::countersign::tools::custom as support;

            #[derive(support::serde::Deserialize, support::schemars::JsonSchema)]
            #[serde(crate = "::countersign::tools::custom::serde", deny_unknown_fields)]
            #[schemars(crate = "::countersign::tools::custom::schemars")]
            struct Arguments { #(#arguments),* }

            #[support::async_trait::async_trait]
            impl support::Tool for #tool {
                fn spec(&self) -> support::ToolSpec {
                    let parameters = support::schema::<Arguments>();
                    let plain = support::ToolSpec::read_only(#name, #about, parameters);
                    support::ToolSpec { #(#fields,)* ..plain }
                }

                async fn run(
                    &self,
                    arguments: support::Value,
                    context: &support::Context,
                ) -> ::core::result::Result<support::Output, support::ToolError> {
                    let _ = context;
                    let Arguments { #(#names),* } = support::parse(arguments)?;
                    support::output(#call)
                }
            }
        };
    })
}

enum Parameter {
    /// A reference to the context of the call.
    Context,
    Argument {
        name: Ident,
        field: TokenStream,
    },
}

impl Parameter {
    fn name(&self) -> Option<&Ident> {
        match self {
            Self::Context => None,
            Self::Argument { name, .. } => Some(name),
        }
    }

    fn field(&self) -> Option<&TokenStream> {
        match self {
            Self::Context => None,
            Self::Argument { field, .. } => Some(field),
        }
    }
}

/// Removes the doc attributes from the parameters, where Rust does not accept them.
fn parameters(inputs: &mut Punctuated<FnArg, Token![,]>) -> Result<Vec<Parameter>> {
    let parameter = |input: &mut FnArg| {
        let FnArg::Typed(PatType { attrs, pat, ty, .. }) = input else {
            return Err(Error::new(input.span(), "a tool is a free function, without `self`"));
        };
        if matches!(**ty, Type::Reference(_)) {
            return Ok(Parameter::Context);
        }
        let Pat::Ident(known) = &**pat else {
            return Err(Error::new(pat.span(), "a parameter needs a name, which the model sees"));
        };
        let name = known.ident.clone();
        let about = documented(attrs, &name, "the parameter's description")?;
        attrs.retain(|attribute| !attribute.path().is_ident("doc"));
        Ok(Parameter::Argument { field: quote!(#[doc = #about] #name: #ty), name })
    };
    inputs.iter_mut().map(parameter).collect()
}

/// The documentation as text.
fn documented(attributes: &[Attribute], of: &Ident, what: &str) -> Result<String> {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(MetaNameValue { path, value: Expr::Lit(text), .. })
            if path.is_ident("doc") =>
        {
            match &text.lit {
                Lit::Str(line) => Some(line.value().trim().to_owned()),
                _ => None,
            }
        }
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.trim().is_empty() {
        return Err(Error::new(of.span(), format!("add a doc comment with {what}")));
    }
    Ok(text.trim().to_owned())
}

fn returns_result(output: &ReturnType) -> bool {
    let ReturnType::Type(_, ty) = output else { return false };
    let Type::Path(path) = &**ty else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Result")
}
