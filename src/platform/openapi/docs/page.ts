import type { Reply } from '../../http/exchange.js';
import { html } from '../../pages/html.js';
import { pageReply } from '../../pages/layout.js';
import type { ApiDocument } from '../document.js';

export function docsPage(document: ApiDocument): Reply {
  return pageReply({ title: document.info.title, body: html`<h1>${document.info.title}</h1>` });
}
