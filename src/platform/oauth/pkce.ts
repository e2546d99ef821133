import { createHash } from 'node:crypto';
import { isSameSecret } from '../../runtime/same-secret.js';

/** An S256 challenge is 43 characters of base64url, that is, 256 bits. */
export const isChallenge = (value: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(value);

const isVerifier = (value: string): boolean => /^[A-Za-z0-9._~-]{43,128}$/.test(value);

export function answersChallenge(verifier: string, challenge: string): boolean {
  if (!isVerifier(verifier)) return false;
  const made = createHash('sha256').update(verifier, 'ascii').digest('base64url');
  return isSameSecret(made, challenge);
}
