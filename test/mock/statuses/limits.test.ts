import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Api, at, DAY, LIST, STATUSES, startApi } from './support.ts';

let api: Api;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const scheduled = (json: object) =>
  api.request('POST', STATUSES, { json: { status: 'hello', scheduled_at: at(DAY), ...json } });
const refusal = async (json: object) => {
  const { status, body } = await scheduled(json);
  return [status, body.error];
};

describe('limits', () => {
  /** Schedules this many, 25 a day from tomorrow on, waiting for the rate limit in between. */
  async function fill(count: number) {
    for (let n = 0; n < count; n++) {
      if (n % 250 === 249) await api.nextWindow();
      await api.schedule(DAY * (1 + Math.floor(n / 25)) + n * 1000);
    }
    await api.nextWindow();
  }
  const DAILY = 'You have exceeded the limit of 25 scheduled posts for today';
  const TOTAL = 'You have exceeded the limit of 300 scheduled posts';
  const SOON = 'Scheduled at The scheduled date must be in the future';

  test('refuses the 26th, when 25 are on one UTC day, with 422', async () => {
    await fill(25);
    expect(await refusal({ scheduled_at: '2026-01-02T23:59:59Z' })).toEqual([
      422,
      `Validation failed: ${DAILY}`,
    ]);
    expect(await refusal({ scheduled_at: '2026-01-03T01:00:00+02:00' })).toEqual([
      422,
      `Validation failed: ${DAILY}`,
    ]);
    expect((await scheduled({ scheduled_at: '2026-01-03T00:00:00Z' })).status).toBe(200);
    expect((await scheduled({ scheduled_at: '2026-01-01T23:59:59Z' })).status).toBe(200);
  });
  test('refuses a change, when it moves a record to a full day, with 422', async () => {
    const id = await api.schedule(9 * DAY);
    await fill(25);
    const { body } = await api.request('PUT', `${LIST}/${id}`, { json: { scheduled_at: at(DAY) } });
    expect(body).toEqual({ error: `Validation failed: ${DAILY}` });
  });
  test('frees a place, when one is cancelled or moved away, for another', async () => {
    await fill(25);
    await api.request('DELETE', `${LIST}/1`);
    expect((await scheduled({})).status).toBe(200);
    await api.request('PUT', `${LIST}/2`, { json: { scheduled_at: at(9 * DAY) } });
    expect((await scheduled({})).status).toBe(200);
    expect((await scheduled({})).status).toBe(422);
  });
  test('counts for each user apart, when another has reached the limit, with 200', async () => {
    await fill(25);
    const json = { status: 'hello', scheduled_at: at(DAY) };
    expect((await api.request('POST', STATUSES, { json, token: 'bob-rw' })).status).toBe(200);
  });
  test('refuses the 301st, when 300 are scheduled in all, with 422 that names each rule broken', async () => {
    await fill(300);
    expect(await refusal({ scheduled_at: at(99 * DAY) })).toEqual([422, `Validation failed: ${TOTAL}`]);
    expect(await refusal({ scheduled_at: at(DAY) })).toEqual([422, `Validation failed: ${TOTAL}, ${DAILY}`]);
    expect(await refusal({ scheduled_at: at(0) })).toEqual([422, `Validation failed: ${SOON}, ${TOTAL}`]);
    const { body } = await api.request('PUT', `${LIST}/1`, { json: { scheduled_at: at(DAY) } });
    expect(body.error).toBe(`Validation failed: ${TOTAL}, ${DAILY}`);
    expect((await api.request('PUT', `${LIST}/1`, { json: {} })).status).toBe(200);
  });
});
