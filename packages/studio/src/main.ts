import { Studio } from './studio.js'

void new Studio().open()
