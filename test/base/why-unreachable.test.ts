import { expect, test } from '@jest/globals';
import { whyUnreachable } from '../../src/base/why-unreachable.ts';

test.each(['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID'])(
  'points at the certificate, when TLS fails with %s',
  (code) => {
    const error = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) });
    expect(whyUnreachable(error)).toMatch(new RegExp(`^TLS: ${code}`));
  },
);
