// Adds subscriptions and revocations one after another, and prints each when it is stored, until it is killed.
const { writeSync } = require('node:fs')
const { openIdentityStore } = require('../../../dist/cjs/service/identity/identity-store.js')

const [, , stateFolder, secretHash, name] = process.argv
openIdentityStore({ stateFolder }).then((store) => {
  const grants = Array.from({ length: 50 }, (_, at) => `tenant-${at}`)
  for (let count = 0; ; count += 1) {
    const clientId = `${name}-${count}`
    const validity = { validFromMs: 0, validUntilMs: Infinity, cancelled: false, createdAtMs: count }
    store.add({ clientId, secretHash, tenants: grants, projects: ['*'], models: ['*'], ...validity })
    store.revoke(clientId)
    writeSync(1, `${clientId}\n`)
  }
})
