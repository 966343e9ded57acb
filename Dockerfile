# Two stages, one binary, no root user.
FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /build
# The image's own compiler, instead of the newest stable one.
ENV RUSTUP_TOOLCHAIN=1.95.0
COPY . .
RUN cargo build --release --locked --features wasm --bin countersign

FROM debian:bookworm-slim
# Optional packages, such as chromium for the browser tools.
ARG EXTRA_PACKAGES=
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap ca-certificates fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji poppler-utils tesseract-ocr $EXTRA_PACKAGES \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --create-home countersign
COPY --from=build /build/target/release/countersign /usr/local/bin/countersign
USER countersign
WORKDIR /data
VOLUME /data
# Inside a container loopback reaches nobody: publish the port on the host's loopback instead,
# `docker run -p 127.0.0.1:8642:8642 …`.
ENV COUNTERSIGN__ADMIN__LISTEN=0.0.0.0:8642 COUNTERSIGN__ADMIN__PUBLIC_URL=http://127.0.0.1:8642
EXPOSE 8642
HEALTHCHECK --interval=30s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8642 && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && grep -q 200 <&3"]
ENTRYPOINT ["countersign"]
CMD ["serve"]
