# One image for the web process, the workers and the sweep; compose.yaml shows how each is started.
FROM python:3.11-slim-bookworm

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1

WORKDIR /app
COPY requirements.txt ./
RUN pip install --disable-pip-version-check --requirement requirements.txt

COPY agenttwin_site ./agenttwin_site
COPY twins ./twins
COPY scenarios ./scenarios
COPY evaluations ./evaluations
COPY reviews ./reviews
COPY demo ./demo
COPY static ./static
COPY templates ./templates
COPY docker ./docker
COPY manage.py agenttwin_ci.py ./

# No right to change the program; what it writes itself is below /data.
RUN useradd --system --uid 10001 --home-dir /data --create-home agenttwin \
    && mkdir -p /data && chown agenttwin /data
USER 10001
ENV AGENTTWIN_DATA_DIR=/data AGENTTWIN_LOG_FORMAT=json AGENTTWIN_LOG_LEVEL=INFO
VOLUME /data
EXPOSE 8000

HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 CMD ["python", "docker/healthcheck.py"]

# The program itself gets the signals (no shell in between), so it stops in order.
STOPSIGNAL SIGTERM
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
