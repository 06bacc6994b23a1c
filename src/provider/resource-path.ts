import { ProviderError } from './provider-error.ts';

/**
 * The path of one resource. An id that is none is refused here: `..` or the empty string would address another resource.
 * @throws ProviderError not_found
 */
export function resourcePath(collection: string, id: string): string {
  if (/^[\w-]{1,200}$/.test(id)) return `${collection}/${id}`;
  const failure = {
    code: 'not_found',
    operation: `${collection}/:id`,
    reason: 'no resource can have this id',
  };
  throw new ProviderError(failure, 'Ids consist of letters, digits, - and _');
}
