FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# No scripts: nothing has to be compiled or downloaded, and the image brings its own Node.
RUN npm ci --omit=dev --ignore-scripts

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY bin ./bin
COPY src ./src
RUN mkdir data && chown node:node data
# Shows that the image works, and leaves what Node compiles for the user below, who may read it and not write it.
RUN node bin/hookkit.js demo --once && chmod -R a+rX node_modules/.cache
USER node
VOLUME /app/data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Not through npm: SIGTERM has to reach the service itself.
CMD ["node", "bin/hookkit.js", "serve"]
