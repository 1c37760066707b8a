// Where the page gets a scene's files from: what the tank was made from; the scenes' folder has it for a recording, and
// for servers that don't keep it.

import { withKey } from "../lobby/sessions.js";
import { fetchBeside } from "../net/here.js";
import type { ViewModel } from "../state/view-model.js";

type Fetch = (path: string) => Promise<Response>;

/** @param key  as which the tank was joined */
export function ownSceneFiles(model: ViewModel, key: () => string, fetchScene: Fetch): Fetch {
  return async (path) => {
    const { session, connection } = model;
    if (connection === "playing") return fetchScene(path);
    const own = `sessions/${encodeURIComponent(session)}/scene/${path}`;
    const response = await fetchBeside(own, { headers: withKey(key()) }).catch(() => null);
    return response?.ok ? response : fetchScene(path);
  };
}
