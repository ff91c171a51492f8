// Adds subscriptions and revocations one after another, and prints each when it is stored, until it is killed.
const { writeSync } = require('node:fs')
const { openIdentityStore } = require('../../dist/identity/identity-store.js')

const [, , stateFolder, secretHash, name] = process.argv

/** The other process writes without a pause, so that this one may not get its turn in time. */
const open = () =>
  openIdentityStore({ stateFolder }).catch((error) => {
    if (/try again/.test(error.message)) return open()
    throw error
  })

open().then((store) => {
  const grants = Array.from({ length: 50 }, (_, at) => `tenant-${at}`)
  for (let count = 0; ; count += 1) {
    const clientId = `${name}-${count}`
    const validity = { validFromMs: 0, validUntilMs: Infinity, cancelled: false, createdAtMs: count }
    store.add({ clientId, secretHash, tenants: grants, projects: ['*'], models: ['*'], ...validity })
    store.revoke(clientId)
    writeSync(1, `${clientId}\n`)
  }
})
