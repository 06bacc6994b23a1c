import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listeningOn } from '../mock/support/listening.ts';

/** A request that a listening receiver took. */
export interface Taken {
  readonly body: { readonly [member: string]: unknown };
  readonly authorization: string;
  readonly at: number;
}

/** A receiver that takes everything, and keeps what it was sent. */
export type ListeningReceiver = Awaited<ReturnType<typeof listeningReceiver>>;

/** @param answer the status for a body, and how long to take */
export async function listeningReceiver(
  answer: (body: Taken['body']) => { status?: number; ms?: number } = () => ({}),
) {
  const taken: Taken[] = [];
  const underWay = new Set<string>();
  const overlaps: string[] = [];
  let most = 0;
  let count = 0;
  const server = createServer(async (req, res) => {
    let text = '';
    for await (const chunk of req) text += chunk;
    const body = JSON.parse(text);
    taken.push({ body, authorization: req.headers.authorization ?? '', at: performance.now() });
    const media = String(body.media_id);
    if (underWay.has(media)) overlaps.push(media);
    underWay.add(media);
    most = Math.max(most, ++count);
    const { status = 200, ms = 0 } = answer(body);
    await sleep(ms);
    count--;
    underWay.delete(media);
    res.statusCode = status;
    res.end(JSON.stringify({ status: 'accepted', id: 'x' }));
  });
  const { url, close } = await listeningOn(server);
  return {
    url: `${url}/webhooks/media`,
    taken,
    /** how many requests were under way at once, at most */
    get most() {
      return most;
    },
    /** media of which two were under way at once */
    overlaps,
    close,
  };
}
