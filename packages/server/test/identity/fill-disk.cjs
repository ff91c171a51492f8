// Fills the disk of a folder with subscriptions, and prints what became of them.
const { rmSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const { openIdentityStore } = require('../../dist/identity/identity-store.js')

const [, , folder, secretHash] = process.argv
const stateFolder = join(folder, 'state')
const spare = join(folder, 'spare')

const main = async () => {
  writeFileSync(spare, Buffer.alloc(150_000))
  let store = await openIdentityStore({ stateFolder })
  const ids = []
  const add = () => {
    const clientId = `client-${ids.length}`
    const tenants = Array.from({ length: 50 }, (_, at) => `tenant-${at}`)
    const validity = { validFromMs: 0, validUntilMs: Infinity, cancelled: false, createdAtMs: 0 }
    store.add({ clientId, secretHash, tenants, projects: [], models: [], ...validity })
    ids.push(clientId)
  }
  const attempt = (work) => {
    try {
      work()
      return 'stored'
    } catch (error) {
      return `${error.code}: ${error.message}`
    }
  }
  const lost = () => ids.filter((id) => store.find(id)?.tenants.length !== 50)
  const report = {}
  report.add = attempt(() => {
    while (ids.length < 1_000) add()
  })
  report.addAgain = attempt(add)
  report.lost = lost()
  store.close()
  store = await openIdentityStore({ stateFolder })
  report.lostAfterOpening = lost()
  rmSync(spare)
  report.afterwards = attempt(add)
  process.stdout.write(JSON.stringify({ ...report, lost: [...report.lost, ...lost()] }))
  store.close()
}
void main()
