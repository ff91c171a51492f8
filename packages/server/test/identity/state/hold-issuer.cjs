// Holds the issuer of a state folder until it is terminated.
const { lockIssuer } = require('../../../dist/identity/state/issuer-lock.js')

const [, , stateFolder, issuer] = process.argv
void lockIssuer(stateFolder, { issuer, audience: 'urn:rxspeech:service' }).then(() => process.send('held'))
// The parent process may end at any time.
process.on('disconnect', () => process.exit())
