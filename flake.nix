{
  description = "A chat-bot gateway whose agent asks before it acts";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      forEach = build: nixpkgs.lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
      manifest = builtins.fromTOML (builtins.readFile ./Cargo.toml);
    in
    {
      packages = forEach (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "countersign";
          version = manifest.workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--bin" "countersign" "--features" "wasm" ];
          nativeBuildInputs = [ pkgs.makeWrapper ];
          # `tests/run` needs servers, a network of its own and user namespaces.
          doCheck = false;
          postInstall = ''
            wrapProgram $out/bin/countersign --prefix PATH : ${
              pkgs.lib.makeBinPath [
                pkgs.bubblewrap
                pkgs.tesseract
                pkgs.poppler-utils
              ]
            }
          '';
          meta.mainProgram = "countersign";
        };
      });

      devShells = forEach (pkgs: {
        default = pkgs.mkShell {
          inputsFrom = [ self.packages.${pkgs.stdenv.hostPlatform.system}.default ];
          packages = [
            pkgs.cargo-nextest
            pkgs.bubblewrap
            pkgs.postgresql
            pkgs.mariadb
          ];
        };
      });
    };
}
