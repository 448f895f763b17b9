// Fetches a file, and tells by which protocol everything came: for people in a table, for the test in JSON.
async function run() {
  const answer = await fetch("1m", { cache: "no-store" });
  const content = await answer.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  await document.querySelector("img").decode();
  const entries = [
    ...performance.getEntriesByType("navigation"),
    ...performance.getEntriesByType("resource").filter((entry) => !entry.name.endsWith("favicon.svg")),
  ];
  const resources = entries.map((entry) => ({
    name: new URL(entry.name).pathname,
    protocol: entry.nextHopProtocol,
    bytes: entry.decodedBodySize,
  }));
  const rows = document.getElementById("resources");
  for (const { name, protocol, bytes } of resources) {
    const row = rows.insertRow();
    for (const text of [name, protocol, bytes.toLocaleString("en")]) {
      row.insertCell().textContent = text;
    }
  }
  const all = resources.every(({ protocol }) => protocol === "h3");
  const line = document.getElementById("fetched");
  line.textContent = `fetch() got ${content.byteLength.toLocaleString("en")} bytes, SHA-256 ${sha256.slice(0, 16)}...`;
  line.className = all ? "good" : "bad";
  return { resources, bytes: content.byteLength, sha256 };
}

run()
  .catch((error) => ({ error: String(error) }))
  .then((result) => {
    document.getElementById("result").textContent = JSON.stringify(result);
  });
