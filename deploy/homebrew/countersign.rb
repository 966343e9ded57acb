# The release workflow replaces VERSION and the checksums, and attaches the result to the release.
class Countersign < Formula
  desc "Chat-bot gateway whose agent asks before it acts"
  homepage "https://github.com/OWNER/countersign"
  version "VERSION"
  license any_of: ["MIT", "Apache-2.0"]

  # The sandbox for commands needs Linux.
  depends_on :linux
  depends_on "bubblewrap"

  on_arm do
    url "https://github.com/OWNER/countersign/releases/download/vVERSION/countersign-VERSION-aarch64-unknown-linux-gnu.tar.gz"
    sha256 "SHA256_AARCH64"
  end

  on_intel do
    url "https://github.com/OWNER/countersign/releases/download/vVERSION/countersign-VERSION-x86_64-unknown-linux-gnu.tar.gz"
    sha256 "SHA256_X86_64"
  end

  def install
    bin.install "countersign"
    doc.install "README.md", "CHANGELOG.md", "countersign.example.toml"
  end

  service do
    run [opt_bin/"countersign", "serve"]
    working_dir var/"countersign"
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/countersign --version")
  end
end
