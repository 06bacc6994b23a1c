/** The credential in an Authorization header: the whole value, as documented, or behind `Bearer`, as many clients send it. */
export function credentialOf(authorization: string | undefined): string | undefined {
  return authorization?.trim().replace(/^bearer\s+/i, '');
}
