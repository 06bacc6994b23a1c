/**
 * The 13 kinds of notification that the provider's specification lists, and for each the ids it carries and the group
 * of handlers that it belongs to. Types, schemas, resource keys and handler slots all derive from this table.
 */
export const KINDS = {
  media_created: { group: 'media', ids: ['media_id'] },
  media_available: { group: 'media', ids: ['media_id'] },
  conversions_complete: { group: 'media', ids: ['media_id'] },
  media_updated: { group: 'media', ids: ['media_id'] },
  media_reuploaded: { group: 'media', ids: ['media_id'] },
  media_deleted: { group: 'media', ids: ['media_id'] },
  thumbnail_created: { group: 'thumbnails', ids: ['thumbnail_id', 'media_id'] },
  thumbnail_deleted: { group: 'thumbnails', ids: ['thumbnail_id', 'media_id'] },
  track_created: { group: 'tracks', ids: ['track_id', 'media_id'] },
  track_deleted: { group: 'tracks', ids: ['track_id', 'media_id'] },
  channel_created: { group: 'channels', ids: ['channel_id'] },
  channel_active: { group: 'channels', ids: ['channel_id'] },
  channel_idle: { group: 'channels', ids: ['channel_id'] },
} as const satisfies Record<string, { group: string; ids: readonly string[] }>;

/** The name of a known kind, such as `media_created`. */
export type Kind = keyof typeof KINDS;

/** The members that name what a notification of kind K is about, such as `media_id`. */
export type IdOf<K extends Kind> = (typeof KINDS)[K]['ids'][number];

/** All kinds, in the order of the specification. */
export const kindNames = Object.keys(KINDS) as Kind[];

/** Whether `name` is one of the 13 kinds. */
export function isKind(name: unknown): name is Kind {
  return typeof name === 'string' && Object.hasOwn(KINDS, name);
}

/** Where an event comes from. The kit makes those of a `reminder` and of a `schedule` itself. */
export type Origin = 'notification' | 'import' | 'reconciled' | 'reminder' | 'schedule';

/** The origins of events that tell what happened at the provider. */
export const TOLD: readonly Origin[] = ['notification', 'import', 'reconciled'];

/** The name of a handler: `unknown` takes the kinds that are not in the list, and each schedule has its own. */
export type Slot = Kind | 'unknown' | 'reminder' | `schedule:${string}`;

/** Which handler takes an event. A provider's kind may be named like one of the kit's. */
export function slotOf({ kind, origin = 'notification' }: { kind: string; origin?: Origin }): Slot {
  return isKind(kind) || !TOLD.includes(origin) ? (kind as Slot) : 'unknown';
}

/** All groups of kinds. */
export const groupNames: readonly string[] = [...new Set(kindNames.map((kind) => KINDS[kind].group))];

/**
 * The kinds that a filter means: a kind, all kinds of a group, or `unknown:NAME` for a kind that this version does not know. `unknown:`
 * means notifications that name no kind. Undefined for any other text.
 */
export function kindsMeant(text: string): readonly string[] | undefined {
  if (isKind(text) || /^(reminder$|schedule:)/.test(text)) return [text];
  if (groupNames.includes(text)) return kindNames.filter((kind) => KINDS[kind].group === text);
  const [, unknown] = /^unknown:(.*)$/s.exec(text) ?? [];
  return unknown === undefined ? undefined : [unknown];
}

/** The filter that means a kind, whatever its name. */
export function filterOfKind(kind: string): string {
  const [meant = kind] = kindsMeant(kind) ?? [];
  return kind !== '' && meant === kind ? kind : `unknown:${kind}`;
}
