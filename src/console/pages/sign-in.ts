import { html } from '../../runtime/html.js';

export function signInBody(to: string, wrong: string | null) {
  return html`<div class="narrow"><h1>Sign in</h1>
<p class="soft">Enter your token. The configuration names them in <code>console.auth</code>.</p>
<form method="post" action="/sign-in"><input type="hidden" name="to" value="${to}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus${wrong === null ? null : html` aria-invalid="true" aria-describedby="wrong"`}>
${wrong === null ? null : html`<p id="wrong" class="wrong">${wrong}</p>`}
<button class="primary">Sign in</button></form></div>`;
}
