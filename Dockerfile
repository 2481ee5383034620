# cgnn on a CPU:
#   docker build --tag cgnn --build-arg TORCH_INDEX=ADDRESS .
#   docker run --rm --volume "$PWD:/data" --user "$(id -u):$(id -g)" cgnn run --dataset demo
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY cgnn_cli cgnn_cli
# The plain release of torch brings gigabytes of CUDA packages: --build-arg TORCH_INDEX=ADDRESS names an index of its CPU builds.
ARG TORCH_INDEX=
RUN python -m venv /opt/cgnn \
 && /opt/cgnn/bin/pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "$(grep '^torch==' constraints.txt)" \
 && /opt/cgnn/bin/pip install --no-cache-dir --constraint constraints.txt '.[plot]'

FROM python:3.11-slim
COPY --from=build /opt/cgnn /opt/cgnn
# The user of the host has no home here: what matplotlib keeps goes to a folder that anyone may write.
ENV PATH=/opt/cgnn/bin:$PATH HOME=/tmp MPLCONFIGDIR=/tmp/matplotlib PYTHONUNBUFFERED=1
WORKDIR /data
USER 1000
ENTRYPOINT ["cgnn"]
CMD ["--help"]
