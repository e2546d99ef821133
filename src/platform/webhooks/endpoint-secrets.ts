import type { Random } from '../../runtime/random.js';
import { secretOverlapSeconds } from '../../wire/limits.js';
import { secretPrefix } from '../../wire/signature.js';
import type { State } from '../state/database.js';
import { newSecret } from '../state/secrets.js';
import { all, run } from '../state/statements.js';

/** Maximum number of signing secrets, so that repeated rotation does not grow the signature header without limit. */
const secretsMax = 5;

export const newEndpointSecret = (random: Random): string => newSecret(random, secretPrefix);

export function addSecret(state: State, endpointNo: number, secret: string): string {
  run(state, 'INSERT INTO webhook_secrets (endpoint_no, secret) VALUES (?, ?)', [endpointNo, secret]);
  return secret;
}

export function rotateSecret(state: State, random: Random, endpointNo: number, now: number): string {
  run(state, 'DELETE FROM webhook_secrets WHERE endpoint_no = ? AND ends_at <= ?', [endpointNo, now]);
  run(state, 'UPDATE webhook_secrets SET ends_at = ? WHERE endpoint_no = ? AND ends_at IS NULL', [
    now + secretOverlapSeconds * 1000,
    endpointNo,
  ]);
  const secret = addSecret(state, endpointNo, newEndpointSecret(random));
  run(
    state,
    `DELETE FROM webhook_secrets WHERE endpoint_no = ?1 AND no NOT IN
       (SELECT no FROM webhook_secrets WHERE endpoint_no = ?1 ORDER BY no DESC LIMIT ?2)`,
    { 1: endpointNo, 2: secretsMax },
  );
  return secret;
}

/** Returns the valid secrets, newest first. A rotated secret keeps signing for 24 hours. */
export function signingSecrets(state: State, endpointNo: number, now: number): readonly string[] {
  return all<{ secret: string }>(
    state,
    `SELECT secret FROM webhook_secrets WHERE endpoint_no = ? AND (ends_at IS NULL OR ends_at > ?)
     ORDER BY no DESC`,
    [endpointNo, now],
  ).map((row) => row.secret);
}
