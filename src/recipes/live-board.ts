import {
  type HandlerContext,
  type Handlers,
  type NotificationOf,
  type Outcome,
  type Router,
  type RoutesContext,
  skip,
} from '../index.ts';

// What is on air now, as a page and as JSON below /app/ of the admin listener. Notifications come late, more than once and in any
// order, and a handler that failed runs again after a newer event: so each channel keeps when its state last changed, and what
// happened before that changes nothing. ctx.state and the end of the event are one commit, and the pages read nothing else. The
// provider sends a change of state only, in whole seconds: of two in one second the board shows the one that is handled last.

export interface LiveBoardOptions {
  /** where it is mounted: `/board` becomes `/app/board`, with `/app/board.json` beside it; `/board` without it */
  readonly path?: string;
}

/** The state of a channel since its newest event. */
interface Standing {
  readonly state: 'active' | 'idle';
  /** the event time, ISO 8601 */
  readonly since: string;
  readonly siteId: string;
}

/** A channel that is on air. */
export interface OnAir {
  readonly channel_id: string;
  readonly site_id: string;
  /** ISO 8601 */
  readonly since: string;
}

/** Its name in ctx.state. */
const NAME = 'live board';

/** Handlers that keep the board, and the routes that show it: mount both with `defineApp`. */
export function liveBoard({ path = '/board' }: LiveBoardOptions = {}): {
  readonly handlers: Required<Pick<Handlers, 'channel_active' | 'channel_idle'>>;
  routes(router: Router, ctx: Pick<RoutesContext, 'states'>): void;
} {
  if (!/^(\/[\w-]+)+$/.test(path)) throw new TypeError(`liveBoard: path must be like /board, not ${path}`);
  return {
    handlers: {
      channel_active: (event, ctx) => keep(event, 'active', ctx),
      channel_idle: (event, ctx) => keep(event, 'idle', ctx),
    },
    routes(router, { states }) {
      router.get(path, async (_req, res) => void res.type('html').send(pageOf(await onAir(states), path)));
      router.get(`${path}.json`, async (_req, res) => void res.json({ on_air: await onAir(states) }));
      router.get(`${path}.css`, (_req, res) => void res.type('css').send(STYLE));
    },
  };
}

function keep(
  event: NotificationOf<'channel_active' | 'channel_idle'>,
  state: Standing['state'],
  ctx: HandlerContext,
): Outcome | undefined {
  const known = ctx.state.get<Standing>(NAME);
  if (known && Date.parse(event.event_time) < Date.parse(known.since)) {
    return skip(`the channel has been ${known.state} since ${known.since}`);
  }
  ctx.state.set(NAME, { state, since: event.event_time, siteId: event.site_id });
  return undefined;
}

/** The channels on air, the longest first. */
async function onAir(states: RoutesContext['states']): Promise<OnAir[]> {
  const channels: OnAir[] = [];
  for await (const { resource, value } of states<Standing>('channel', NAME)) {
    if (value.state !== 'active') continue;
    const channel_id = resource.slice('channel:'.length);
    channels.push({ channel_id, site_id: value.siteId, since: value.since });
  }
  return channels.sort((one, other) => Date.parse(one.since) - Date.parse(other.since));
}

function pageOf(channels: readonly OnAir[], path: string): string {
  const rows = channels.map(
    ({ channel_id, site_id, since }) =>
      `<tr><td>${escaped(channel_id)}</td><td>${escaped(site_id)}</td><td><time>${escaped(since)}</time></td></tr>`,
  );
  const table = `<table><thead><tr><th>Channel</th><th>Site</th><th>On air since</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="5">
<title>${channels.length} on air</title>
<link rel="stylesheet" href="/app${path}.css">
</head>
<body>
<h1>On air</h1>
${channels.length > 0 ? table : '<p>No channel is on air.</p>'}
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}

const STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 48rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 0.4rem 0.75rem 0.4rem 0; border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
time { font-variant-numeric: tabular-nums; }
`;
