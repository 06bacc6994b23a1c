import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';
import { startPostgres } from '../support/own-postgres.ts';
import { OWNER } from '../support/postgres-binaries.ts';
import { connected, SECRETS_KEY } from '../support/postgres-databases.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';

describeWithPostgres('while PostgreSQL is stopped', () => {
  let server: PostgresServer;
  let inspected: Inspected;
  beforeAll(async () => {
    server = await startPostgres();
    await connected(server.adminUrl(), (admin) => admin.query(`CREATE DATABASE kit OWNER ${OWNER}`));
    inspected = await inspect(
      {},
      { DATABASE_URL: server.url('kit'), SECRETS_KEY: SECRETS_KEY.toString('base64') },
    );
    await inspected.deliver(notification());
    await inspected.settled();
    await server.stop();
  });
  afterAll(async () => {
    await inspected?.dispose();
    await server?.remove();
  });

  test('the API says so and nothing of the URL, when it is asked, with 503', async () => {
    const { status, headers, body } = await inspected.raw('/api/events');
    expect([status, headers['retry-after']]).toEqual([503, '5']);
    expect(JSON.parse(body)).toEqual({ error: expect.stringMatching(/^the store cannot do this now: /) });
    const { username, password } = new URL(server.url('kit'));
    for (const secret of [password, `${username}:`]) expect(body).not.toContain(secret);
  });

  test('/metrics has what the process knows, when it is scraped, with 200', async () => {
    const { status, body } = await inspected.raw('/metrics');
    expect(status).toBe(200);
    const lines = body.split('\n');
    expect(lines).toContain('webhook_store_up 0');
    expect(lines).toContain('webhook_notifications_total{result="accepted"} 1');
    expect(body).not.toContain('webhook_quarantined');
  });
});
