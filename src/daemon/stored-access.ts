import { Fault } from '../domain/fault.js';

/** The error of code that has no vault to read a stored token from. `key` names the token and does not contain it. */
export function noVault(key: string): Fault {
  return new Fault('internal', `the token ${key} is in the vault, which cannot be read here`);
}
