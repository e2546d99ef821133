export { escapeHtml, Html, html } from '../../runtime/html.js';
