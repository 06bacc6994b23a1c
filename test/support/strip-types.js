import { stripTypeScriptTypes } from 'node:module';

/** Jest's transform of TypeScript: it strips types, as Node itself does. Lines stay where they are. */
export default {
  process: (source) => ({ code: stripTypeScriptTypes(source) }),
};
