import type { Brand } from './brand.js';
import type { Instant } from './instant.js';

/** A position in the feed, where a later sync continues. Opaque: stored, never compared. */
export type Cursor = Brand<string, 'Cursor'>;

/** A page of a running listing. Void once that listing ends. */
export type PageToken = Brand<string, 'PageToken'>;

/** Where to read the feed next. */
export type Position =
  | { readonly kind: 'start' }
  | { readonly kind: 'page'; readonly token: PageToken }
  | { readonly kind: 'since'; readonly time: Instant }
  | { readonly kind: 'cursor'; readonly cursor: Cursor };
