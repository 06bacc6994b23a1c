import { defineHandlers } from '../../src/dispatch/handler.ts';
import { skip } from '../../src/dispatch/outcome.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';
import { PATH } from './genuine.ts';
import { inspect } from './inspected-service.ts';

const SITE = 'site0001';

/** A service with its admin listener, fed by a mock provider over HTTP. */
export type InspectedMock = Awaited<ReturnType<typeof inspectMock>>;

/** Handlers of which some fail, skip or do a step. */
const mixedHandlers = defineHandlers({
  async media_available(event, ctx) {
    await ctx.once('publish', () => ({ page: `https://example.com/${event.media_id}` }));
  },
  media_created() {},
  thumbnail_created: () => skip('thumbnails are made elsewhere'),
  conversions_complete() {
    throw new Error('the page is not there');
  },
  channel_active() {},
  channel_idle() {},
});

/** Starts it, with the life of a media and two channels behind it, something refused and something in quarantine. */
export async function inspectMock(env: Readonly<Record<string, string>> = {}) {
  const inspected = await inspect(mixedHandlers, env);
  const mock = await MockProvider.start({ port: 0, seed: 11, processingMs: 1, maxAttempts: 1 });
  const { id, secret } = mock.createWebhook({
    name: 'inspected',
    webhook_url: `http://127.0.0.1:${inspected.service.port}${PATH}`,
    events: [...kindNames],
    site_ids: [SITE],
  });
  await inspected.service.store.secrets.add(id, secret);
  /** Resolves once all that was sent has come to its end. */
  const quiet = async (): Promise<void> => {
    await mock.settled();
    await inspected.settled();
  };
  for (let n = 0; n < 3; n++) mock.createMedia({ site_id: SITE });
  const [live, idle] = [mock.createChannel({ site_id: SITE }), mock.createChannel({ site_id: SITE })];
  mock.activateChannel(live.channel_id);
  mock.activateChannel(idle.channel_id);
  await quiet();
  mock.setFaults({ tamper: 1 });
  mock.createChannel({ site_id: SITE });
  mock.setFaults({ tamper: 0, wrong_secret: 1 });
  mock.createChannel({ site_id: SITE });
  await quiet();
  mock.setFaults({ wrong_secret: 0 });
  return {
    ...inspected,
    mock,
    site: SITE,
    quiet,
    async dispose() {
      await mock.close();
      await inspected.dispose();
    },
  };
}
