import type { Cell } from './table.js';

/** Every kind of credential an operation may be called with, relative to one company. */
export const credentialKinds = [
  'none',
  'garbage',
  'publishable',
  'application',
  /** A user token with the required scopes, of a person the target belongs to. */
  'owner',
  /** The same scopes, of a person unrelated to the target. */
  'stranger',
  /** The owner's token, with every scope except the required ones. */
  'unscoped',
  /** An installation on the target's company, with every scope. */
  'company',
  'otherCompany',
  'syndicate',
  'otherSyndicate',
] as const;
export type CredentialKind = (typeof credentialKinds)[number];

export type Cells = Readonly<Record<CredentialKind, Cell>>;
