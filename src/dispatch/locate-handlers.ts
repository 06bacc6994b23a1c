import { fileURLToPath } from 'node:url';
import type { CodePlace } from '../base/code-frame.ts';
import type { Handlers } from './handler.ts';

/** By this name V8's inspector gets at the handlers, while it is asked. */
const NAME = '__hookkitHandlers';

/**
 * Where the function of each handler begins, by its kind, as V8 knows it. A function that is in no file is left out, such as one
 * that `bind` made.
 */
export async function locateHandlers(handlers: Handlers): Promise<ReadonlyMap<string, CodePlace>> {
  const { Session } = await import('node:inspector/promises'); // nothing else needs it
  const session = new Session();
  const urls = new Map<string, string>();
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => urls.set(scriptId, url));
  session.connect();
  Reflect.set(globalThis, NAME, handlers);
  try {
    await session.post('Debugger.enable'); // which tells of every script
    const places = new Map<string, CodePlace>();
    for (const kind of Object.keys(handlers)) {
      const { result } = await session.post('Runtime.evaluate', {
        expression: `globalThis.${NAME}[${JSON.stringify(kind)}]`,
      });
      if (result.objectId === undefined) continue;
      const { internalProperties } = await session.post('Runtime.getProperties', {
        objectId: result.objectId,
      });
      const place = placeOf(internalProperties, urls);
      if (place) places.set(kind, place);
    }
    return places;
  } finally {
    Reflect.deleteProperty(globalThis, NAME);
    session.disconnect();
  }
}

interface InternalProperty {
  readonly name: string;
  readonly value?: { readonly value?: unknown } | undefined;
}

/** Lines and columns count from 0 in V8. */
interface FunctionLocation {
  readonly scriptId: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

function placeOf(
  properties: readonly InternalProperty[] | undefined,
  urls: ReadonlyMap<string, string>,
): CodePlace | undefined {
  const location = properties?.find(({ name }) => name === '[[FunctionLocation]]')?.value?.value;
  if (location === undefined) return undefined;
  const { scriptId, lineNumber, columnNumber } = location as FunctionLocation;
  const url = urls.get(scriptId) ?? '';
  if (!url.startsWith('file:')) return undefined;
  return { file: fileURLToPath(url), line: lineNumber + 1, column: columnNumber + 1 };
}
