import type { PageEnvelope } from './ports.js';

/** The part of a page that decisions depend on; the mirror handles its records. */
export type PageSeen = Pick<PageEnvelope, 'mode' | 'hasMore' | 'next'> & { readonly items: number };
