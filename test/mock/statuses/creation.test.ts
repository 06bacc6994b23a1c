import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Api, at, DAY, type Json, LIST, MINUTE, STATUSES, startApi } from './support.ts';

let api: Api;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const post = (json: object) => api.request('POST', STATUSES, { json });
const scheduled = (json: object) => post({ status: 'hello', scheduled_at: at(DAY), ...json });
const refusal = async (json: object) => {
  const { status, body } = await scheduled(json);
  return [status, body.error];
};

describe('scheduled_at', () => {
  test('schedules, when it is over 5 minutes ahead, with 200 and a ScheduledStatus', async () => {
    const { status, body } = await scheduled({ scheduled_at: at(5 * MINUTE + 1) });
    expect(status).toBe(200);
    expect(body).toEqual((await api.get(`${LIST}/${body.id}`)).body);
  });
  test.each([
    ['in the past', at(-DAY)],
    ['4 minutes ahead', at(4 * MINUTE)],
    ['exactly 5 minutes ahead', at(5 * MINUTE)],
  ])('refuses, when it is %s, with 422', async (_, scheduled_at) => {
    expect(await refusal({ scheduled_at })).toEqual([
      422,
      'Validation failed: Scheduled at The scheduled date must be in the future',
    ]);
    expect((await api.get(LIST)).body).toEqual([]);
  });
  test.each(['tomorrow', '2026-13-01', 1_800_000_000, [at(DAY)], {}])(
    'refuses, when it is %j, with 422',
    async (scheduled_at) => {
      expect(await refusal({ scheduled_at })).toEqual([
        422,
        'Validation failed: Scheduled at is not an ISO 8601 date and time',
      ]);
    },
  );
  test.each([undefined, null, ''])(
    'publishes at once, when it is %j, with 200 and a Status',
    async (value) => {
      const { status, body } = await scheduled({ scheduled_at: value });
      expect(status).toBe(200);
      expect(body).toMatchObject({ content: '<p>hello</p>', created_at: at(0), visibility: 'public' });
      expect((await api.get(LIST)).body).toEqual([]);
      expect((await api.get(`${STATUSES}/${body.id}`)).body).toEqual(body);
    },
  );
});

describe('text and what goes with it', () => {
  test.each([undefined, null, '', '  \n\t', [], {}])(
    'refuses, when the text is %j, with 422',
    async (status) => {
      expect(await refusal({ status })).toEqual([422, "Validation failed: Text can't be blank"]);
      expect((await post({ status })).body.error).toBe("Validation failed: Text can't be blank");
    },
  );
  test('refuses, when text and warning have over 500 characters, with 422', async () => {
    expect((await scheduled({ status: '👩‍👩‍👧‍👦'.repeat(490), spoiler_text: '0123456789' })).status).toBe(
      200,
    );
    expect((await scheduled({ status: `https://${'x'.repeat(600)}` })).status).toBe(200);
    expect(await refusal({ status: 'x'.repeat(501) })).toEqual([
      422,
      'Validation failed: Text character limit of 500 exceeded',
    ]);
  });
  test('refuses, when the visibility is none of the four, with 422', async () => {
    expect(await refusal({ visibility: 'secret' })).toEqual([
      422,
      'Validation failed: Visibility is not included in the list',
    ]);
  });
  test.each(['999', 999, 'abc', '0', true])(
    'refuses, when the reply target is %j, with 404',
    async (target) => {
      expect(await refusal({ in_reply_to_id: target })).toEqual([
        404,
        'The post you are trying to reply to does not appear to exist.',
      ]);
    },
  );
  test('refuses, when the reply target is for others’ eyes only, with 404', async () => {
    const json = { status: 'secret', visibility: 'direct' };
    const { body } = await api.request('POST', STATUSES, { json, token: 'bob-rw' });
    expect((await refusal({ in_reply_to_id: body.id }))[0]).toBe(404);
  });
});

describe('poll', () => {
  const good = { options: ['a', 'b'], expires_in: 3600 };
  const problem = async (poll: object) => (await refusal({ poll }))[1];

  test.each([
    ['2 options', good],
    ['4 options', { ...good, options: ['a', 'b', 'c', 'd'] }],
    ['options of 50 characters', { ...good, options: ['a', '🎬'.repeat(50)] }],
    ['5 minutes', { ...good, expires_in: 300 }],
    ['a month', { ...good, expires_in: 2_629_746 }],
    ['multiple and hide_totals', { ...good, multiple: true, hide_totals: false }],
  ])('takes a poll, when it has %s, and echoes it', async (_, poll) => {
    const { status, body } = await scheduled({ poll });
    expect([status, body.params.poll]).toEqual([200, poll]);
  });
  test.each([
    ['one option', { ...good, options: ['a'] }, 'Choices must have more than one item'],
    ['no options', { expires_in: 3600 }, 'Choices must have more than one item'],
    ['blank options', { ...good, options: ['a', ' '] }, 'Choices must have more than one item'],
    ['5 options', { ...good, options: [...'abcde'] }, "Choices can't contain more than 4 items"],
    [
      'an option of 51 characters',
      { ...good, options: ['a', 'b'.repeat(51)] },
      'Choices cannot be longer than 50 characters each',
    ],
    ['one option twice', { ...good, options: ['a', 'a'] }, 'Choices contain duplicate items'],
    ['under 5 minutes', { ...good, expires_in: 299 }, 'Deadline is too soon'],
    ['over a month', { ...good, expires_in: 2_629_747 }, 'Deadline is too far into the future'],
    ['no end', { options: ['a', 'b'] }, 'Deadline is too far into the future'],
    [
      'several mistakes',
      { options: ['a'], expires_in: '1' },
      'Choices must have more than one item, Deadline is too soon',
    ],
  ])('refuses a poll, when it has %s, with 422', async (_, poll, expected) => {
    expect(await problem(poll)).toBe(`Validation failed: ${expected}`);
  });
  test('refuses a poll, when there are files too, as too many files', async () => {
    expect(await refusal({ poll: good, media_ids: ['1'] })).toEqual([422, 'Cannot attach more than 4 files']);
  });
  test.each([null, {}, '', 'a', 5])('takes a status, when the poll is %j, as one without', async (poll) => {
    expect((await scheduled({ poll })).body.params.poll).toBeNull();
  });
});

describe('params', () => {
  const NAMES =
    'poll text media_ids sensitive visibility idempotency scheduled_at spoiler_text application_id in_reply_to_id';

  test('echoes, when all is sent as JSON, with the types of the JSON', async () => {
    const target = (await post({ status: 'target' })).body.id;
    const { body } = await scheduled({
      in_reply_to_id: target,
      sensitive: true,
      spoiler_text: 'careful',
      visibility: 'unlisted',
      media_ids: [],
      poll: { hide_totals: true, multiple: false, expires_in: 300, options: ['1', 2] },
      language: 'de',
    });
    expect(body.params).toEqual({
      poll: { options: ['1', 2], expires_in: 300, multiple: false, hide_totals: true },
      text: 'hello',
      media_ids: [],
      sensitive: true,
      visibility: 'unlisted',
      idempotency: null,
      scheduled_at: null,
      spoiler_text: 'careful',
      application_id: 1,
      in_reply_to_id: Number(target),
    });
    expect(Object.keys(body.params).join(' ')).toBe(NAMES);
  });
  test('echoes, when all is sent as a form, strings', async () => {
    const target = (await post({ status: 'target' })).body.id;
    const form = new URLSearchParams({
      status: 'hello',
      scheduled_at: at(DAY),
      in_reply_to_id: target,
      sensitive: 'true',
      spoiler_text: '',
    });
    const { body } = await api.request('POST', STATUSES, { body: form });
    expect(body.params).toMatchObject({
      sensitive: 'true',
      spoiler_text: '',
      in_reply_to_id: Number(target),
      visibility: null,
    });
    expect(Object.keys(body.params).join(' ')).toBe(NAMES);
  });
  test('makes text of the text, when JSON has a number in its place', async () => {
    expect((await scheduled({ status: 42 })).body.params.text).toBe('42');
  });
});

test('shows a Status, when it replies to another with a warning, with all that was asked for', async () => {
  const target: Json = (await post({ status: 'target' })).body;
  const { body } = await post({
    status: 'a & <b>\nc\n\nd',
    in_reply_to_id: target.id,
    spoiler_text: 'careful',
  });
  expect(body).toMatchObject({
    content: '<p>a &#38; &#60;b&#62;<br />c</p><p>d</p>',
    in_reply_to_id: target.id,
    in_reply_to_account_id: '1',
    sensitive: true,
    spoiler_text: 'careful',
    account: { id: '1', username: 'alice', acct: 'alice' },
    application: { name: 'hookkit mock', website: null },
    url: `${api.url}/@alice/${body.id}`,
  });
});
