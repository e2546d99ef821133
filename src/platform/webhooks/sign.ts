import { createHmac } from 'node:crypto';
import { signatureAlgorithm, signatureScheme } from '../../wire/signature.js';

/** Returns the signature header of an attempt, with one value per valid secret. */
export function signatureHeader(secrets: readonly string[], unixSeconds: number, body: string): string {
  const values = secrets.map((secret) => {
    const digest = createHmac(signatureAlgorithm, secret)
      .update(`${unixSeconds}.`)
      .update(body)
      .digest('hex');
    return `${signatureScheme}=${digest}`;
  });
  return [`t=${unixSeconds}`, ...values].join(',');
}
