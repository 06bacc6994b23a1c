import type { IdOf, Kind } from '../../notification/kinds.ts';

/** Reports an event of a simulated site. The ids come in the order of the notification's members. */
export type Emit = <K extends Kind>(
  event: K,
  siteId: string,
  ids: { readonly [Id in IdOf<K>]: string },
) => void;
