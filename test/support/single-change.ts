import fc from 'fast-check';
import type { AnyObject } from './json-values.ts';

type Path = readonly string[];

/** One change of a JSON value, and where it is. */
export interface Change {
  readonly before: AnyObject;
  readonly after: AnyObject;
  /** JSON Pointer (RFC 6901) */
  readonly pointer: string;
}

function pointerOf(path: Path): string {
  return path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function isContainer(value: unknown): value is AnyObject {
  return typeof value === 'object' && value !== null;
}

/** All places below a value. */
function placesIn(value: unknown, path: Path = []): Path[] {
  if (!isContainer(value)) return [];
  return Object.keys(value).flatMap((name) => [[...path, name], ...placesIn(value[name], [...path, name])]);
}

/** A copy with `edit` done to the object or array that holds the place. */
function edited(value: AnyObject, path: Path, edit: (parent: object, name: string) => void): AnyObject {
  const copy: AnyObject = structuredClone(value);
  let parent: unknown = copy;
  for (const name of path.slice(0, -1)) parent = isContainer(parent) ? parent[name] : undefined;
  if (isContainer(parent)) edit(parent, path.at(-1) ?? '');
  return copy;
}

function define(parent: object, name: string, value: unknown): void {
  Object.defineProperty(parent, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Another value of the same or of another type. */
function otherThan(value: unknown, choice: number): unknown {
  const others = [null, true, false, 0, 1, '', '0', [], [null], {}, { a: 1 }];
  const different = others.filter((other) => {
    if (isContainer(value) && isContainer(other)) return Array.isArray(value) !== Array.isArray(other);
    return other !== value;
  });
  return different[choice % different.length];
}

function changed(value: AnyObject, choice: number, pick: number): Change {
  const places = placesIn(value);
  const path = places[pick % Math.max(1, places.length)];
  if (path === undefined || choice % 3 === 0) {
    const name = `added ${choice}`;
    const containers: Path[] = [[], ...places.filter((place) => isContainer(valueAt(value, place)))];
    const parent = containers[pick % containers.length] ?? [];
    const target = valueAt(value, parent);
    const added = [...parent, Array.isArray(target) ? String(target.length) : name];
    return {
      before: value,
      after: edited(value, added, (holder, member) => define(holder, member, null)),
      pointer: pointerOf(added),
    };
  }
  const holder = valueAt(value, path.slice(0, -1));
  const isLast = !Array.isArray(holder) || path.at(-1) === String(holder.length - 1);
  if (choice % 3 === 1 && isLast) {
    const after = edited(value, path, (parent, name) => {
      if (Array.isArray(parent)) parent.pop();
      else Reflect.deleteProperty(parent, name);
    });
    return { before: value, after, pointer: pointerOf(path) };
  }
  const other = otherThan(valueAt(value, path), choice);
  return {
    before: value,
    after: edited(value, path, (parent, name) => define(parent, name, other)),
    pointer: pointerOf(path),
  };
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, name) => (isContainer(inner) ? inner[name] : undefined), value);
}

/** Any single change: a member or element replaced, added or taken away, at any depth. */
export function singleChange(objects: fc.Arbitrary<AnyObject>): fc.Arbitrary<Change> {
  return fc.tuple(objects, fc.nat(), fc.nat()).map(([value, choice, pick]) => changed(value, choice, pick));
}
