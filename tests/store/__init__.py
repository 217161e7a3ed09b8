"""One contract, two stores: every test here that asks for `store` runs on both."""
