import { expect, test } from '@jest/globals';
import { createOAuthAPIClient, createRestAPIClient, MastoHttpError } from 'masto';
import generator, { detector, type Entity } from 'megalodon';
import { api, at, DAY, useApi } from './support.ts';

// The real clients from the npm registry, unchanged, over HTTP.
useApi();
const client = (accessToken = 'alice-rw') => createRestAPIClient({ url: api.url, accessToken }).v1;

const schedule = (text: string, ms: number) =>
  client().statuses.create({ status: text, scheduledAt: at(ms) });

const OUTSIDE = 'This action is outside the authorized scopes';

const problem = async (promise: PromiseLike<unknown>) => {
  try {
    await promise;
  } catch (error) {
    if (error instanceof MastoHttpError) return [error.statusCode, error.message];
    throw error;
  }
  throw new Error('nothing went wrong');
};

test('runs the whole life of a scheduled status, when all is well, from creation to cancellation, and publishes another', async () => {
  const created = await schedule('hello from masto', DAY);
  expect(created).toMatchObject({
    id: '1',
    scheduledAt: at(DAY),
    params: { text: 'hello from masto', applicationId: 1, inReplyToId: null },
    mediaAttachments: [],
  });
  expect(await client().scheduledStatuses.list()).toEqual([created]);
  expect(await client().scheduledStatuses.$select(created.id).fetch()).toEqual(created);
  const changed = await client()
    .scheduledStatuses.$select(created.id)
    .update({ scheduledAt: at(2 * DAY) });
  expect(changed).toEqual({ ...created, scheduledAt: at(2 * DAY) });
  await client().scheduledStatuses.$select(created.id).remove();
  expect(await client().scheduledStatuses.list()).toEqual([]);
  const { version, uri } = await client().instance.fetch();
  expect([version, uri]).toEqual(['3.3.0', new URL(api.url).host]);
  const published = await client().statuses.create({ status: 'at once' });
  const { id } = await client().accounts.verifyCredentials();
  expect(await client().accounts.$select(id).statuses.list()).toEqual([published]);
});

test('signs in by itself, when it has registered, with each grant, and is refused with a wrong one', async () => {
  const app = await createRestAPIClient({ url: api.url }).v1.apps.create({
    clientName: 'a client',
    redirectUris: 'urn:ietf:wg:oauth:2.0:oob',
    scopes: 'read write',
  });
  expect(app).toMatchObject({ id: '2', name: 'a client', clientId: expect.any(String) });
  const clientId = app.clientId ?? '';
  const clientSecret = app.clientSecret ?? '';
  const redirectUri = 'urn:ietf:wg:oauth:2.0:oob';
  const { token } = createOAuthAPIClient({ url: api.url });
  const credentials = { clientId, clientSecret, redirectUri, scope: 'read write' };
  const byCode = { ...credentials, grantType: 'authorization_code' as const, code: 'alice-rw' };
  const byPassword = { ...credentials, grantType: 'password' as const, username: 'bob', password: 'bob-rw' };
  const { accessToken, tokenType, scope } = await token.create(byCode);
  expect([tokenType, scope]).toEqual(['Bearer', 'read write']);
  expect((await client(accessToken).accounts.verifyCredentials()).username).toBe('alice');
  const ofBob = await token.create({ ...byPassword, scope: 'write' });
  const { id } = await client(ofBob.accessToken).statuses.create({ status: 'x' });
  expect((await client().statuses.$select(id).fetch()).account.username).toBe('bob');
  expect(await problem(client(ofBob.accessToken).accounts.verifyCredentials())).toEqual([403, OUTSIDE]);
  const byClient = { clientId, clientSecret, redirectUri, grantType: 'client_credentials' as const };
  expect(await token.create(byClient)).toMatchObject({ scope: 'read' });
  for (const [sent, status, error] of [
    [{ ...byCode, code: 'alice-revoked' }, 400, 'invalid_grant'],
    [{ ...byPassword, username: 'alice' }, 400, 'invalid_grant'],
    [{ ...byCode, scope: 'read follow' }, 400, 'invalid_scope'],
    [{ ...byCode, clientSecret: 'another' }, 401, 'invalid_client'],
    [{ ...byCode, clientId: 'another' }, 401, 'invalid_client'],
    [{ ...byCode, grantType: 'implicit' as 'password' }, 400, 'unsupported_grant_type'],
  ] as const) {
    expect(await problem(token.create(sent as typeof byCode))).toEqual([status, error]);
  }
});

// The real megalodon from the npm registry, unchanged, over HTTP.
const megalodonOf = (token = 'alice-rw') => generator('mastodon', api.url, token);

// megalodon drops a date that is not ahead of the machine's own clock, hence the year.
const FAR = 3000 * 365 * DAY;
const scheduleByMegalodon = async (text: string) =>
  (await megalodonOf().postStatus(text, { scheduled_at: at(FAR) })).data as Entity.ScheduledStatus;
test('runs the whole life of a scheduled status, when all is well, from creation to cancellation', async () => {
  expect(await detector(api.url)).toBe('mastodon');
  const created = await scheduleByMegalodon('hello from megalodon');
  expect(created).toMatchObject({ id: '1', scheduled_at: at(FAR), params: { text: 'hello from megalodon' } });
  expect((await megalodonOf().getScheduledStatuses({ limit: 5 })).data).toEqual([created]);
  expect((await megalodonOf().getScheduledStatus('1')).data).toEqual(created);
  expect((await megalodonOf().scheduleStatus('1')).data).toEqual(created);
  expect((await megalodonOf().scheduleStatus('1', at(DAY))).data).toEqual({
    ...created,
    scheduled_at: at(DAY),
  });
  expect((await megalodonOf().cancelScheduledStatus('1')).data).toEqual({});
  expect((await megalodonOf().getScheduledStatuses()).data).toEqual([]);
});

test('signs in with the scopes of statuses alone, which serve for statuses, and for nothing else', async () => {
  const scopes = ['read:statuses', 'write:statuses'];
  const redirect_uris = 'https://app.example/';
  const app = await megalodonOf('').createApp('a client', { scopes, redirect_uris });
  const { client_id, client_secret } = app;
  const data = await megalodonOf('').fetchAccessToken(client_id, client_secret, 'alice-rw', redirect_uris);
  expect(data.scope).toBe('read:statuses write:statuses');
  const own = megalodonOf(data.access_token);
  const created = (await own.postStatus('x', { scheduled_at: at(FAR) })).data as Entity.ScheduledStatus;
  expect((await own.getScheduledStatuses()).data).toEqual([created]);
  expect((await own.cancelScheduledStatus(created.id)).status).toBe(200);
  expect(await problem(client(data.access_token).accounts.verifyCredentials())).toEqual([403, OUTSIDE]);
  const media = { file: new Blob(['x']), skipPolling: true };
  const { v2 } = createRestAPIClient({ url: api.url, accessToken: data.access_token });
  expect(await problem(v2.media.create(media))).toEqual([403, OUTSIDE]);
});
