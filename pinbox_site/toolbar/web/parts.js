// The parts of the toolbar that are files of their own. An imported module has the nonce of the script that
// asks for it, so a strict policy of the page lets it in as it let in the first.

/** @typedef {typeof import("./more.js").more} More */

let tries = 0;

/**
 * @param {string} endpoint the hub as it is reached now
 * @param {"more" | "de"} name
 * @returns {Promise<any>} what the part offers under its name; fails where the hub is away or another than the page's
 */
export async function fetchPart(endpoint, name) {
  // A module that failed once is not asked for again under the same address.
  const file = `/${name}.js${tries ? `?${tries}` : ""}`;
  const made = await import(`${endpoint}/toolbar${file}`)
    .catch(() => import(`.${file}`)) // from where this script came
    .catch((error) => {
      tries += 1;
      throw error;
    });
  if (made.stamp !== STAMP) throw new Error("another version");
  return made.default(KIT)[name];
}
