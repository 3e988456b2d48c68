// Set-up of every test file. Values of a property test get as long as their bound: by default fast-check stops at about ten.

import fc from 'fast-check'

fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true })
