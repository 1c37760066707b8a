// Where this page is and what its server has beside it. An address may have a name and a password before its host, as a
// kiosk's; browsers send them with what they load by themselves, but nothing may be asked for by such an address, and
// nobody else is to get it.

/** An address without a name and a password. */
export function bare(address: string): string {
  const url = new URL(address);
  url.username = "";
  url.password = "";
  return url.href;
}

/** The page's own address. */
export function here(): string {
  return bare(window.location.href);
}

/** Of something beside the page. */
export function beside(path: string): string {
  return new URL(path, bare(document.baseURI)).href;
}

/** Asks the page's server for something beside the page. */
export function fetchBeside(path: string, init?: RequestInit): Promise<Response> {
  return fetch(beside(path), init);
}

const FINGERPRINT = /^[0-9A-F]{2}(:[0-9A-F]{2}){31}$/;

/**
 * The SHA-256 fingerprint of a self-signed certificate, which browsers don't trust by themselves: whoever opens a link can
 * compare what the browser shows with what somebody who is in already reads here.
 * @param address  the page's
 * @return "" where there is no such certificate, or the server doesn't say
 */
export async function ownFingerprint(
  fetch: (path: string) => Promise<Response>,
  address: string,
): Promise<string> {
  if (new URL(address).protocol !== "https:") return "";
  const answer: unknown = await fetch("certificate")
    .then((response) => (response.ok ? response.json() : null))
    .catch(() => null);
  if (typeof answer !== "object" || answer === null || !("self_signed" in answer) || !("sha256" in answer))
    return "";
  const { self_signed, sha256 } = answer;
  return self_signed === true && typeof sha256 === "string" && FINGERPRINT.test(sha256) ? sha256 : "";
}
