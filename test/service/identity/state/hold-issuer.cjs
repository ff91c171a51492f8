// Holds the issuer of a state folder until it is ended.
const { lockIssuer } = require('../../../../dist/cjs/service/identity/state/issuer-lock.js')

const [, , stateFolder, issuer] = process.argv
void lockIssuer(stateFolder, { issuer, audience: 'urn:rxspeech:service' }).then(() => process.send('held'))
// Whoever started it may break off.
process.on('disconnect', () => process.exit())
