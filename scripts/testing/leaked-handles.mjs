// @ts-check
// Runs around every test file: checks that the file has closed its servers, sockets and child processes.
import { afterAll, beforeAll } from 'vitest'

/** Kinds of `process.getActiveResourcesInfo()` that a test opens. Not timers, which the test runner has too. */
const watched = new Set([
  'TCPServerWrap',
  'TCPSocketWrap',
  'TLSWrap',
  'HTTP2SESSION',
  'UDPWRAP',
  'ProcessWrap',
  'FSEventWrap',
])
/** A closing socket needs a few iterations of the event loop, a child process some time to exit. */
const graceMs = 10_000
const pollMs = 20

/** @returns {Map<string, number>} */
const openHandles = () => {
  const counts = new Map()
  for (const kind of process.getActiveResourcesInfo()) {
    if (watched.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return counts
}

/** @param {ReadonlyMap<string, number>} before */
const leakedHandles = (before) =>
  [...openHandles()].flatMap(([kind, count]) => {
    const more = count - (before.get(kind) ?? 0)
    return more > 0 ? [`${more} ${kind}`] : []
  })

/** @type {ReadonlyMap<string, number>} */
let before = new Map()

beforeAll(() => {
  before = openHandles()
})

// Registered before the hooks of the file, so it runs after them.
afterAll(async () => {
  const deadline = Date.now() + graceMs
  while (leakedHandles(before).length > 0 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
  const leaked = leakedHandles(before)
  if (leaked.length > 0) {
    throw new Error(
      `This test file leaves handles open: ${leaked.join(', ')}. Close them in its afterEach or afterAll.`,
    )
  }
})
