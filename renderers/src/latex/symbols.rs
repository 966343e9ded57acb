//! Commands for single symbols and functions.

/// The symbol of a command, which is passed without its backslash.
pub fn symbol(name: &str) -> Option<char> {
    greek(name).or_else(|| operator(name)).or_else(|| relation(name)).or_else(|| other(name))
}

fn greek(name: &str) -> Option<char> {
    Some(match name {
        "alpha" => 'α',
        "beta" => 'β',
        "gamma" => 'γ',
        "delta" => 'δ',
        "epsilon" => 'ϵ',
        "varepsilon" => 'ε',
        "zeta" => 'ζ',
        "eta" => 'η',
        "theta" => 'θ',
        "vartheta" => 'ϑ',
        "iota" => 'ι',
        "kappa" => 'κ',
        "lambda" => 'λ',
        "mu" => 'μ',
        "nu" => 'ν',
        "xi" => 'ξ',
        "omicron" => 'ο',
        "pi" => 'π',
        "varpi" => 'ϖ',
        "rho" => 'ρ',
        "varrho" => 'ϱ',
        "sigma" => 'σ',
        "varsigma" => 'ς',
        "tau" => 'τ',
        "upsilon" => 'υ',
        "phi" => 'ϕ',
        "varphi" => 'φ',
        "chi" => 'χ',
        "psi" => 'ψ',
        "omega" => 'ω',
        "Gamma" => 'Γ',
        "Delta" => 'Δ',
        "Theta" => 'Θ',
        "Lambda" => 'Λ',
        "Xi" => 'Ξ',
        "Pi" => 'Π',
        "Sigma" => 'Σ',
        "Upsilon" => 'Υ',
        "Phi" => 'Φ',
        "Psi" => 'Ψ',
        "Omega" => 'Ω',
        _ => return None,
    })
}

fn operator(name: &str) -> Option<char> {
    Some(match name {
        "sum" => '∑',
        "prod" => '∏',
        "coprod" => '∐',
        "int" => '∫',
        "iint" => '∬',
        "iiint" => '∭',
        "oint" => '∮',
        "bigcup" => '⋃',
        "bigcap" => '⋂',
        "bigoplus" => '⨁',
        "bigotimes" => '⨂',
        "bigvee" => '⋁',
        "bigwedge" => '⋀',
        "pm" => '±',
        "mp" => '∓',
        "times" => '×',
        "div" => '÷',
        "cdot" => '⋅',
        "ast" => '∗',
        "star" => '⋆',
        "circ" => '∘',
        "bullet" => '∙',
        "oplus" => '⊕',
        "ominus" => '⊖',
        "otimes" => '⊗',
        "odot" => '⊙',
        "cup" => '∪',
        "cap" => '∩',
        "setminus" => '∖',
        "wedge" | "land" => '∧',
        "vee" | "lor" => '∨',
        "dagger" => '†',
        "neg" | "lnot" => '¬',
        "nabla" => '∇',
        "partial" => '∂',
        "prime" => '′',
        "infty" => '∞',
        "forall" => '∀',
        "exists" => '∃',
        "nexists" => '∄',
        "emptyset" | "varnothing" => '∅',
        "top" => '⊤',
        "bot" => '⊥',
        _ => return None,
    })
}

fn relation(name: &str) -> Option<char> {
    Some(match name {
        "le" | "leq" | "leqslant" => '≤',
        "ge" | "geq" | "geqslant" => '≥',
        "ne" | "neq" => '≠',
        "ll" => '≪',
        "gg" => '≫',
        "equiv" => '≡',
        "approx" => '≈',
        "sim" => '∼',
        "simeq" => '≃',
        "cong" => '≅',
        "propto" => '∝',
        "in" => '∈',
        "notin" => '∉',
        "ni" => '∋',
        "subset" => '⊂',
        "subseteq" => '⊆',
        "supset" => '⊃',
        "supseteq" => '⊇',
        "perp" => '⊥',
        "parallel" => '∥',
        "mid" => '∣',
        "models" => '⊨',
        "vdash" => '⊢',
        "to" | "rightarrow" => '→',
        "leftarrow" | "gets" => '←',
        "leftrightarrow" => '↔',
        "Rightarrow" | "implies" => '⇒',
        "Leftarrow" => '⇐',
        "Leftrightarrow" | "iff" => '⇔',
        "longrightarrow" => '⟶',
        "Longrightarrow" => '⟹',
        "mapsto" => '↦',
        "uparrow" => '↑',
        "downarrow" => '↓',
        "hookrightarrow" => '↪',
        "prec" => '≺',
        "succ" => '≻',
        "asymp" => '≍',
        "doteq" => '≐',
        "triangleq" => '≜',
        "coloneqq" => '≔',
        _ => return None,
    })
}

fn other(name: &str) -> Option<char> {
    Some(match name {
        "ldots" | "dots" | "dotsc" => '…',
        "cdots" | "dotsb" => '⋯',
        "vdots" => '⋮',
        "ddots" => '⋱',
        "hbar" => 'ℏ',
        "ell" => 'ℓ',
        "Re" => 'ℜ',
        "Im" => 'ℑ',
        "aleph" => 'ℵ',
        "wp" => '℘',
        "imath" => 'ı',
        "jmath" => 'ȷ',
        "angle" => '∠',
        "triangle" => '△',
        "square" => '□',
        "degree" => '°',
        "checkmark" => '✓',
        "backslash" => '\\',
        "lbrace" | "{" => '{',
        "rbrace" | "}" => '}',
        "lbrack" => '[',
        "rbrack" => ']',
        "langle" => '⟨',
        "rangle" => '⟩',
        "lfloor" => '⌊',
        "rfloor" => '⌋',
        "lceil" => '⌈',
        "rceil" => '⌉',
        "lvert" | "rvert" | "vert" => '|',
        "lVert" | "rVert" | "Vert" | "|" => '‖',
        "%" => '%',
        "$" => '$',
        "#" => '#',
        "&" => '&',
        "_" => '_',
        "colon" => ':',
        _ => return None,
    })
}

/// The combining character of an accent.
pub fn accent(name: &str) -> Option<char> {
    Some(match name {
        "hat" | "widehat" => '\u{302}',
        "tilde" | "widetilde" => '\u{303}',
        "bar" => '\u{304}',
        "vec" | "overrightarrow" => '\u{20d7}',
        "dot" => '\u{307}',
        "ddot" => '\u{308}',
        "acute" => '\u{301}',
        "grave" => '\u{300}',
        "breve" => '\u{306}',
        "check" => '\u{30c}',
        "mathring" => '\u{30a}',
        _ => return None,
    })
}

/// Whether a named function places its scripts below and above; `None` if there is no such
/// function.
pub fn function(name: &str) -> Option<bool> {
    match name {
        "det" | "gcd" | "inf" | "lim" | "max" | "min" | "Pr" | "sup" | "limsup" | "liminf"
        | "argmax" | "argmin" => Some(true),
        "arccos" | "arcsin" | "arctan" | "arg" | "cos" | "cosh" | "cot" | "coth" | "csc"
        | "deg" | "dim" | "exp" | "hom" | "ker" | "lg" | "ln" | "log" | "sec" | "sin" | "sinh"
        | "tan" | "tanh" | "rank" | "tr" => Some(false),
        _ => None,
    }
}

/// The width of a space, in em.
pub fn space(name: &str) -> Option<f32> {
    Some(match name {
        "," | "thinspace" => 1.0 / 6.0,
        ":" | ">" | "medspace" => 2.0 / 9.0,
        ";" | "thickspace" => 5.0 / 18.0,
        "!" => -1.0 / 6.0,
        " " | "~" => 1.0 / 3.0,
        "quad" => 1.0,
        "qquad" => 2.0,
        _ => return None,
    })
}

/// The symbol of a unit or prefix.
pub fn unit(name: &str) -> Option<&'static str> {
    Some(match name {
        "per" => "/",
        "kilo" => "k",
        "mega" => "M",
        "giga" => "G",
        "micro" => "µ",
        "nano" => "n",
        "centi" => "c",
        "metre" | "meter" | "milli" => "m",
        "second" => "s",
        "minute" => "min",
        "hour" => "h",
        "gram" => "g",
        "litre" | "liter" => "l",
        "newton" => "N",
        "joule" => "J",
        "watt" => "W",
        "volt" => "V",
        "ampere" => "A",
        "ohm" => "Ω",
        "kelvin" => "K",
        "celsius" | "degreeCelsius" => "°C",
        "degree" => "°",
        "percent" => "%",
        "pascal" => "Pa",
        "hertz" => "Hz",
        "mole" => "mol",
        "byte" => "B",
        "squared" => "²",
        "cubed" => "³",
        _ => return None,
    })
}
