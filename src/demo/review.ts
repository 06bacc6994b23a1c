import { kindNames } from '../notification/kinds.ts';
import type { Scene } from './scenes.ts';
import type { Stage } from './stage.ts';

/** The result of a scene, for a table, and whether it is as expected. */
export interface Review {
  readonly row: readonly string[];
  readonly asExpected: boolean;
}

export const HEAD = ['notification', 'answer', 'status', 'attempts', 'to ack', 'to handled', ''];

export async function review({ mock, service }: Stage, scene: Scene): Promise<Review> {
  const delivery = mock.deliveries().find(({ id }) => id === scene.deliveryId);
  const last = delivery?.attempts.at(-1);
  const body = parse(last?.answer?.body);
  const answer = `${last?.answer?.status ?? 'no answer'} ${body.status ?? 'refused'}`;
  const event = body.id === undefined ? undefined : await service.store.event(body.id);
  const asExpected =
    answer === scene.answer && event?.status === scene.status && (event?.attempts ?? 0) === scene.attempts;
  const handled = event?.handledAt === undefined ? '-' : `${event.handledAt - event.receivedAt} ms`;
  const verdict = asExpected ? 'ok' : `expected ${scene.answer}, ${scene.status}, ${scene.attempts}`;
  const ack = last ? `${last.duration_ms} ms` : '-';
  const { title } = scene;
  return {
    row: [title, answer, event?.status ?? '-', `${event?.attempts ?? '-'}`, ack, handled, verdict],
    asExpected,
  };
}

/** The kinds that no scene has shown. */
export function missingKinds(scenes: readonly Scene[]): string[] {
  return kindNames.filter((kind) => !scenes.some(({ title }) => title.split(' ')[0] === kind));
}

function parse(body: string | undefined): { status?: string; id?: string } {
  return body?.startsWith('{') ? JSON.parse(body) : {};
}
