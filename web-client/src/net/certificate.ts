// The server's certificate, where browsers don't trust it by themselves: whoever opens a link can compare what the
// browser shows with what somebody who is in already reads here.

const FINGERPRINT = /^[0-9A-F]{2}(:[0-9A-F]{2}){31}$/;

/**
 * The SHA-256 fingerprint of a self-signed certificate.
 * @param here  the page's address
 * @return "" where there is no such certificate, or the server doesn't say
 */
export async function ownFingerprint(
  fetch: (path: string) => Promise<Response>,
  here: string,
): Promise<string> {
  if (new URL(here).protocol !== "https:") return "";
  const answer: unknown = await fetch("certificate")
    .then((response) => (response.ok ? response.json() : null))
    .catch(() => null);
  if (typeof answer !== "object" || answer === null || !("self_signed" in answer) || !("sha256" in answer))
    return "";
  const { self_signed, sha256 } = answer;
  return self_signed === true && typeof sha256 === "string" && FINGERPRINT.test(sha256) ? sha256 : "";
}
